// Small text helpers for options and messages, independent of the locale.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
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

// The pieces between separators; one empty piece for an empty text. They are views of the text, which must
// outlive them: a temporary is not taken.
std::vector<std::string_view> split(std::string_view text, char separator);
template <std::same_as<std::string> Temporary>
std::vector<std::string_view> split(Temporary&& text, char separator) = delete;

// The text in quotes for a message: control and non-ASCII bytes escaped, long texts cut.
std::string in_quotes(std::string_view text);

// Text of others for a message, without quotes: control bytes escaped, cut after `longest` bytes.
std::string escaped(std::string_view text, std::size_t longest);

// A path in quotes: whole, because people look for it, and in its own script; only control bytes are
// escaped.
std::string path_in_quotes(std::string_view path);

// Text from outside as a terminal may show it: control characters (C0, DEL, C1), marks that turn the
// direction of text or break lines, and bytes that are not UTF-8 are written as escapes (\x1b, \u{202e}).
// Cut with "..." where it would exceed `longest` bytes. New lines and tabs are escaped too, unless
// they are kept.
inline constexpr std::size_t kLongestLine = 2048;
enum class Lines : std::uint8_t { Escape, Keep };
std::string printable(std::string_view text, std::size_t longest = kLongestLine, Lines lines = Lines::Escape);

// Items joined by ", ".
std::string join(const std::vector<std::string_view>& items);

// ASCII letters only.
std::string lower(std::string_view text);

}  // namespace clasp::base
