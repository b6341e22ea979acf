#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <new>
#include <system_error>

#include "base/text.h"

namespace clasp::base {
namespace {

Status system_error(std::string_view what, const std::string& path, int error) {
    const Code code = error == ENOENT || error == ENOTDIR ? Code::NotFound : Code::Unavailable;
    return {code, "cannot " + std::string(what) + " " + path_in_quotes(path) + ": " +
                      std::generic_category().message(error)};
}

// An open file that is closed on every way out.
class Descriptor {
   public:
    explicit Descriptor(int fd) : fd_(fd) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    [[nodiscard]] int get() const { return fd_; }
    // 0, or the error of closing.
    int close() {
        const int fd = fd_;
        fd_ = -1;
        return ::close(fd) == 0 ? 0 : errno;
    }

   private:
    int fd_;
};

int write_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(fd, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return 0;
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t limit_bytes) {
    // Without waiting for a writer, should the path be a pipe.
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.get() < 0) return system_error("open", path, errno);
    struct stat info {};
    if (::fstat(file.get(), &info) != 0) return system_error("read", path, errno);
    if (!S_ISREG(info.st_mode))
        return Status(Code::InvalidArgument, path_in_quotes(path) + " is not a regular file");
    const auto size = static_cast<std::size_t>(info.st_size);
    if (size > limit_bytes) {
        return Status(Code::TooLarge, path_in_quotes(path) + " has " + std::to_string(size) +
                                          " bytes, more than the limit of " + std::to_string(limit_bytes));
    }
    try {
        std::string bytes(size, '\0');
        std::size_t at = 0;
        while (at < size) {
            const ssize_t n = ::read(file.get(), bytes.data() + at, size - at);
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) return system_error("read", path, errno);
            if (n == 0) break;
            at += static_cast<std::size_t>(n);
        }
        bytes.resize(at);  // shorter only when someone cut the file meanwhile
        return bytes;
    } catch (const std::bad_alloc&) {
        return Status(Code::OutOfMemory, "there is not enough memory to read " + path_in_quotes(path));
    }
}

Status write_file_atomic(const std::string& path, std::string_view bytes) {
    // Unique among the threads of this process and, by its id, among processes; O_EXCL settles the rest.
    static std::atomic<unsigned> counter{0};
    const std::string temporary =
        path + ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
    Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file.get() < 0) return system_error("write", path, errno);
    int error = write_all(file.get(), bytes);
    if (error == 0 && ::fsync(file.get()) != 0) error = errno;
    const int close_error = file.close();
    if (error == 0) error = close_error;
    if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
    if (error == 0) return {};
    ::unlink(temporary.c_str());
    return system_error("write", path, error);
}

}  // namespace clasp::base
