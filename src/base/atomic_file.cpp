#include "base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "base/text.h"

namespace clasp::base {
namespace {

struct Free {
    void operator()(char* text) const { std::free(text); }
};

// What a link names, a step at a time: the file at its end need not be there yet.
std::string end_of_links(std::string path) {
    constexpr int kMostLinks = 40;
    for (int i = 0; i < kMostLinks; ++i) {
        std::error_code error;
        const std::filesystem::path next = std::filesystem::read_symlink(path, error);
        if (error) break;  // no link
        path = (std::filesystem::path(path).parent_path() / next).string();
    }
    return path;
}

int write_all(int file, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(file, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return 0;
}

// Without waiting for somebody at the other end of a pipe; from then on writing waits as usual.
int open_special(const std::string& path) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file >= 0) ::fcntl(file, F_SETFL, ::fcntl(file, F_GETFL) & ~O_NONBLOCK);
    return file;
}

}  // namespace

std::string write_target(const std::string& path) {
    const std::unique_ptr<char, Free> real(::realpath(path.c_str(), nullptr));
    if (real != nullptr) return real.get();
    // Links of /proc to pipes have no path that could be followed.
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 ? path : end_of_links(path);
}

Status AtomicFile::error(int number) const {
    const Code code = number == ENOENT || number == ENOTDIR ? Code::NotFound : Code::Unavailable;
    return {code, "cannot write " + path_in_quotes(path_) + ": " + std::generic_category().message(number)};
}

Result<AtomicFile> AtomicFile::create(const std::string& path) {
    // Unique among the threads of this process and, by its id, among processes; O_EXCL settles the rest.
    static std::atomic<unsigned> counter{0};
    AtomicFile file(path, write_target(path));
    struct stat info {};
    const bool is_there = ::stat(file.target_.c_str(), &info) == 0;
    if (is_there && S_ISDIR(info.st_mode)) return file.error(EISDIR);
    if (is_there && !S_ISREG(info.st_mode)) {
        file.file_ = open_special(file.target_);
        if (file.file_ < 0) return file.error(errno);
        return file;
    }
    // Moving a file over one that must not be written would be allowed, and not meant.
    if (is_there && ::access(file.target_.c_str(), W_OK) != 0) return file.error(errno);
    std::string temporary =
        file.target_ + ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
    file.file_ = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file.file_ < 0) return file.error(errno);
    file.temporary_ = std::move(temporary);
    if (is_there && ::fchmod(file.file_, info.st_mode & 07777U) != 0) return file.error(errno);
    return file;
}

AtomicFile::~AtomicFile() {
    discard();
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      file_(std::exchange(other.file_, -1)) {}

void AtomicFile::discard() {
    if (file_ >= 0) ::close(file_);
    file_ = -1;
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
    temporary_.clear();
}

Status AtomicFile::append(std::string_view bytes) {
    const int number = write_all(file_, bytes);
    return number == 0 ? ok_status() : error(number);
}

Status AtomicFile::commit(Flush flush) {
    int number = 0;
    if (flush == Flush::ToDisk && !temporary_.empty() && ::fsync(file_) != 0) number = errno;
    if (::close(std::exchange(file_, -1)) != 0 && number == 0) number = errno;
    if (number == 0 && !temporary_.empty()) {
        if (::rename(temporary_.c_str(), target_.c_str()) == 0) {
            temporary_.clear();
        } else {
            number = errno;
        }
    }
    discard();
    return number == 0 ? ok_status() : error(number);
}

}  // namespace clasp::base
