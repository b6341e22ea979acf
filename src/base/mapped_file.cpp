#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace clasp::base {

namespace {

Status system_error(const std::string& path, const char* action, int error) {
    const Code code = error == ENOENT ? Code::NotFound : Code::Unavailable;
    return {code, "cannot " + std::string(action) + " " + path + ": " + std::strerror(error)};
}

// Closes the descriptor on every way out; the mapping outlives it.
struct Descriptor {
    int value;
    ~Descriptor() {
        if (value >= 0) ::close(value);
    }
};

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
    const Descriptor descriptor{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (descriptor.value < 0) return system_error(path, "open", errno);
    struct stat info = {};
    if (::fstat(descriptor.value, &info) != 0) return system_error(path, "read", errno);
    if (!S_ISREG(info.st_mode)) return Status(Code::InvalidArgument, path + " is not a regular file");

    MappedFile file;
    file.size_ = static_cast<std::size_t>(info.st_size);
    if (file.size_ == 0) return file;
    void* address = ::mmap(nullptr, file.size_, PROT_READ, MAP_PRIVATE, descriptor.value, 0);
    if (address == MAP_FAILED) {
        file.size_ = 0;
        return system_error(path, "map", errno);
    }
    file.data_ = static_cast<const std::byte*>(address);
    return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
}

MappedFile::~MappedFile() {
    if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace clasp::base
