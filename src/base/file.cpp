#include "base/file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/atomic_file.h"
#include "base/text.h"

namespace clasp::base {
namespace {

Status system_error(std::string_view what, const std::string& path, int error) {
    const Code code = error == ENOENT || error == ENOTDIR ? Code::NotFound : Code::Unavailable;
    return {code, "cannot " + std::string(what) + " " + path_in_quotes(path) + ": " +
                      std::generic_category().message(error)};
}

Status not_regular(const std::string& path, mode_t mode) {
    std::string_view kind = "something else";
    if (S_ISDIR(mode)) kind = "a folder";
    if (S_ISFIFO(mode)) kind = "a pipe";
    if (S_ISSOCK(mode)) kind = "a socket";
    if (S_ISCHR(mode) || S_ISBLK(mode)) kind = "a device";
    return {Code::InvalidArgument,
            path_in_quotes(path) + " is " + std::string(kind) + ", not a regular file"};
}

// Such files call themselves regular, but have no size, and reading some of them waits for events.
bool is_of_the_kernel(int descriptor) {
    constexpr std::array<unsigned long, 6> kKinds = {
        PROC_SUPER_MAGIC, SYSFS_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC, CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC};
    struct statfs system {};
    if (::fstatfs(descriptor, &system) != 0) return false;
    for (const unsigned long kind : kKinds) {
        if (static_cast<unsigned long>(system.f_type) == kind) return true;
    }
    return false;
}

}  // namespace

Result<InputFile> InputFile::open(const std::string& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return system_error("open", path, errno);
    if (!S_ISREG(info.st_mode)) return not_regular(path, info.st_mode);
    InputFile file;
    file.path_ = path;
    // Should a pipe have taken the file's place meanwhile, it is opened without waiting and refused.
    file.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file.descriptor_ < 0) return system_error("open", path, errno);
    if (::fstat(file.descriptor_, &info) != 0) return system_error("read", path, errno);
    if (!S_ISREG(info.st_mode)) return not_regular(path, info.st_mode);
    if (is_of_the_kernel(file.descriptor_)) {
        return Status(Code::InvalidArgument,
                      path_in_quotes(path) + " is a file of the kernel, not one with contents of its own");
    }
    file.size_ = static_cast<std::size_t>(info.st_size);
    return file;
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(std::exchange(other.size_, 0)) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(descriptor_, other.descriptor_);
    std::swap(size_, other.size_);
    return *this;
}

InputFile::~InputFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

Result<std::string> InputFile::read(std::uint64_t offset, std::size_t count) const {
    try {
        std::string bytes(count, '\0');
        std::size_t at = 0;
        while (at < count) {
            const ssize_t n = ::pread(descriptor_, bytes.data() + at, count - at,
                                      static_cast<off_t>(offset + static_cast<std::uint64_t>(at)));
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) return system_error("read", path_, errno);
            if (n == 0) break;
            at += static_cast<std::size_t>(n);
        }
        bytes.resize(at);
        return bytes;
    } catch (const std::bad_alloc&) {
        return Status(Code::OutOfMemory, "there is not enough memory to read " + path_in_quotes(path_));
    } catch (const std::length_error&) {
        return Status(Code::OutOfMemory, "there is not enough memory to read " + path_in_quotes(path_));
    }
}

Result<std::string> read_file(const std::string& path, std::size_t limit_bytes) {
    CLASP_ASSIGN_OR_RETURN(const InputFile file, InputFile::open(path));
    if (file.size() > limit_bytes) {
        return Status(Code::TooLarge, path_in_quotes(path) + " has " + std::to_string(file.size()) +
                                          " bytes, more than the limit of " + std::to_string(limit_bytes));
    }
    return file.read(0, file.size());
}

Status write_file_atomic(const std::string& path, std::string_view bytes) {
    CLASP_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
    CLASP_RETURN_IF_ERROR(file.append(bytes));
    return file.commit();
}

}  // namespace clasp::base
