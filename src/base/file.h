// Whole files in and out.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "clasp/status.h"

namespace clasp::base {

// The bytes of a regular file. Errors: not_found, invalid_argument (a folder or device), too_large
// (checked before anything is read), unavailable (the system refuses), out_of_memory.
Result<std::string> read_file(const std::string& path, std::size_t limit_bytes);

// Writes beside the target and renames over it, so that a reader sees the old file or the new one, never
// a part. Error: unavailable with the system's reason; the part written is then removed.
Status write_file_atomic(const std::string& path, std::string_view bytes);

inline std::string_view as_text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline std::span<const std::byte> as_bytes(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace clasp::base
