// A file seen as read-only bytes, mapped instead of read: weights go from the page cache straight to
// where they are converted.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/file.h"
#include "clasp/status.h"

namespace clasp::base {

class MappedFile {
   public:
    // An empty file gives an empty span. Errors: as InputFile::open(); out_of_memory when the address space
    // is too small.
    static Result<MappedFile> open(const std::string& path);
    // The mapping outlives the open file.
    static Result<MappedFile> map(const InputFile& file);

    MappedFile() = default;
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile();

    // Valid as long as this object lives. Should someone shorten the file, reading what is gone raises
    // SIGBUS; clasp/fatal.h says what a program can do about it.
    [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }

   private:
    const std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

// Wishes about the pages of a mapped file, which the system may ignore. That they are in memory before they
// are read one by one, which takes a fault each:
void fetch_pages(std::span<const std::byte> bytes);
// That those which lie in it entirely leave memory; whoever reads them again gets them from the file.
void release_pages(std::span<const std::byte> bytes);

}  // namespace clasp::base
