// Small text helpers for options and messages, independent of the locale.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace clasp::base {

// Up to `decimals` digits after the point, trailing zeros removed: 188.2, 64.
std::string format_number(double value, int decimals = 2);

// The shortest text that reads back as the same double.
std::string format_exact(double value);

// The whole text as a decimal number without sign; nothing when it is not one or does not fit.
std::optional<std::size_t> parse_size(std::string_view text);

// The whole text as a finite number; nothing otherwise.
std::optional<double> parse_double(std::string_view text);

// The pieces between separators; one empty piece for an empty text.
std::vector<std::string_view> split(std::string_view text, char separator);

// The text in quotes for a message: control and non-ASCII bytes escaped, long texts cut.
std::string in_quotes(std::string_view text);

// A path in quotes: whole, because people look for it, and in its own script; only control bytes are
// escaped.
std::string path_in_quotes(std::string_view path);

// Items joined by ", ".
std::string join(const std::vector<std::string_view>& items);

// ASCII letters only.
std::string lower(std::string_view text);

}  // namespace clasp::base
