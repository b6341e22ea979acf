// Bytes that are read piece by piece: of a file, or in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/file.h"

namespace clasp::video {

class ByteSource {
   public:
    explicit ByteSource(base::InputFile file) : file_(std::move(file)) {}
    explicit ByteSource(std::string_view bytes) : bytes_(bytes) {}

    [[nodiscard]] std::uint64_t size() const { return file_ ? file_->size() : bytes_.size(); }
    // Fewer than `count` only at the end; -1: they cannot be read.
    [[nodiscard]] std::int64_t read(std::uint64_t offset, std::uint8_t* out, std::size_t count) const;
    // A digest of the bytes, or of what identifies the file: its path, size and time of change.
    [[nodiscard]] std::string identity() const;

   private:
    std::optional<base::InputFile> file_;
    std::string_view bytes_;  // without a file; borrowed
};

}  // namespace clasp::video
