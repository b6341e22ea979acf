#include "base/mapped_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include "base/text.h"

namespace clasp::base {

Result<MappedFile> MappedFile::open(const std::string& path) {
    CLASP_ASSIGN_OR_RETURN(const InputFile file, InputFile::open(path));
    return map(file);
}

Result<MappedFile> MappedFile::map(const InputFile& file) {
    MappedFile mapped;
    if (file.size() == 0) return mapped;
    void* address = ::mmap(nullptr, file.size(), PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
    if (address == MAP_FAILED) {
        const int error = errno;
        return Status(error == ENOMEM ? Code::OutOfMemory : Code::Unavailable,
                      "cannot map the " + std::to_string(file.size()) + " bytes of " +
                          path_in_quotes(file.path()) +
                          " into memory: " + std::generic_category().message(error));
    }
    mapped.data_ = static_cast<const std::byte*>(address);
    mapped.size_ = file.size();
    return mapped;
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

void fetch_pages(std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t before = reinterpret_cast<std::uintptr_t>(bytes.data()) % page;
    void* begin = const_cast<std::byte*>(bytes.data() - before);
#ifdef MADV_POPULATE_READ
    if (::madvise(begin, before + bytes.size(), MADV_POPULATE_READ) == 0) return;
#endif
    ::madvise(begin, before + bytes.size(), MADV_WILLNEED);
}

void release_pages(std::span<const std::byte> bytes) {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto base = reinterpret_cast<std::uintptr_t>(bytes.data());
    const std::uintptr_t first = (base + page - 1) / page * page;
    const std::uintptr_t last = (base + bytes.size()) / page * page;
    if (first >= last) return;
    ::madvise(const_cast<std::byte*>(bytes.data() + (first - base)), last - first, MADV_DONTNEED);
}

}  // namespace clasp::base
