// Whole files in and out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "clasp/status.h"

namespace clasp::base {

// A regular file that is open for reading: the one way in which files of users are opened. Pipes, sockets,
// devices and folders are refused before they are opened, so nothing waits for a writer and no device is
// touched; so are the files of the kernel (/proc, /sys), which have no size and may block.
class InputFile {
   public:
    // Errors: not_found, invalid_argument (not a regular file; the message says what it is), unavailable.
    static Result<InputFile> open(const std::string& path);

    InputFile(InputFile&& other) noexcept;
    InputFile& operator=(InputFile&& other) noexcept;
    InputFile(const InputFile&) = delete;
    InputFile& operator=(const InputFile&) = delete;
    ~InputFile();

    [[nodiscard]] int descriptor() const { return descriptor_; }
    [[nodiscard]] std::size_t size() const { return size_; }  // when it was opened
    [[nodiscard]] const std::string& path() const { return path_; }

    // `count` bytes from `offset` on; fewer only when the file ends before. Errors: unavailable,
    // out_of_memory.
    [[nodiscard]] Result<std::string> read(std::uint64_t offset, std::size_t count) const;

   private:
    InputFile() = default;

    std::string path_;
    int descriptor_ = -1;
    std::size_t size_ = 0;
};

// The bytes of a regular file. Errors: as InputFile, and too_large (checked before anything is read),
// out_of_memory.
Result<std::string> read_file(const std::string& path, std::size_t limit_bytes);

// A whole file through AtomicFile: the old one or the new one is there, never a part.
Status write_file_atomic(const std::string& path, std::string_view bytes);

inline std::string_view as_text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline std::span<const std::byte> as_bytes(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace clasp::base
