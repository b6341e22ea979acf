// UTF-8 in and out, strict: overlong forms, surrogates and values past U+10FFFF are errors.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace clasp::base {

// Decodes the code point at `at` and moves `at` behind it; nullopt (and `at` unmoved) if the bytes
// there are not well formed. Precondition: at < text.size().
std::optional<char32_t> next_code_point(std::string_view text, std::size_t& at);

void append_utf8(std::string& out, char32_t code_point);

// Byte offset of the first ill-formed sequence, or nullopt.
std::optional<std::size_t> first_invalid_utf8(std::string_view text);

}  // namespace clasp::base
