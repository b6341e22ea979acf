#include "base/text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include "base/utf8.h"

namespace clasp::base {

std::string format_number(double value, int decimals) {
    std::array<char, 400> buffer{};  // the largest double has 309 digits before the point
    const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                            std::chars_format::fixed, decimals);
    if (error != std::errc()) return format_exact(value);
    std::string text(buffer.data(), end);
    if (text.find('.') != std::string::npos) {
        while (text.back() == '0') text.pop_back();
        if (text.back() == '.') text.pop_back();
    }
    return text;
}

std::string format_exact(double value) {
    std::array<char, 32> buffer{};
    const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
    return error == std::errc() ? std::string(buffer.data(), end) : std::string();
}

std::optional<std::size_t> parse_size(std::string_view text) {
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<double> parse_double(std::string_view text) {
    double value = 0.0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    if (!std::isfinite(value)) return std::nullopt;
    return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> pieces;
    while (true) {
        const std::size_t at = text.find(separator);
        pieces.push_back(text.substr(0, at));
        if (at == std::string_view::npos) return pieces;
        text.remove_prefix(at + 1);
    }
}

namespace {

constexpr std::size_t kLongestText = 64;
constexpr std::size_t kLongestPath = 4096;

std::string byte_escape(unsigned char byte) {
    constexpr std::string_view kHex = "0123456789abcdef";
    return std::string("\\x") + kHex[byte >> 4U] + kHex[byte & 15U];
}

// Characters that move the cursor, start a terminal's commands or make text read otherwise than it is.
bool is_hostile(char32_t c) {
    const auto is_in = [c](char32_t first, char32_t last) { return c >= first && c <= last; };
    return c < 0x20 || is_in(0x7f, 0x9f)                      // C0, DEL, C1
           || c == 0x061c || is_in(0x200e, 0x200f)            // marks of direction
           || is_in(0x2028, 0x202e) || is_in(0x2066, 0x2069)  // separators, overrides, isolates
           || c == 0xfeff || is_in(0xfff9, 0xfffb)            // byte order mark, annotations
           || c == 0xe0001 || is_in(0xe0020, 0xe007f);        // tags
}

std::string code_escape(char32_t c) {
    if (c < 0x80) return byte_escape(static_cast<unsigned char>(c));
    std::array<char, 8> digits{};
    const auto [end, error] =
        std::to_chars(digits.data(), digits.data() + digits.size(), static_cast<std::uint32_t>(c), 16);
    return "\\u{" + std::string(digits.data(), end) + "}";
}

template <typename IsPlain>
std::string escape(std::string_view text, std::size_t longest, IsPlain is_plain) {
    std::string out;
    for (const char c : text.substr(0, longest)) {
        const auto byte = static_cast<unsigned char>(c);
        out += is_plain(byte) ? std::string(1, c) : byte_escape(byte);
    }
    if (text.size() > longest) out += "...";
    return out;
}

bool is_no_control(unsigned char byte) {
    return byte >= 0x20 && byte != 0x7f;
}

}  // namespace

std::string in_quotes(std::string_view text) {
    const auto is_plain = [](unsigned char byte) { return byte >= 0x20 && byte < 0x7f; };
    return "'" + escape(text, kLongestText, is_plain) + "'";
}

std::string escaped(std::string_view text, std::size_t longest) {
    return escape(text, longest, is_no_control);
}

std::string path_in_quotes(std::string_view path) {
    return "'" + escape(path, kLongestPath, is_no_control) + "'";
}

std::string printable(std::string_view text, std::size_t longest, Lines lines) {
    constexpr std::string_view kCut = "...";
    std::string out;
    std::size_t fits = 0;  // bytes of out after which the mark of a cut still has room
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = at;
        const auto c = next_code_point(text, at);
        const char32_t value = c.value_or(0);
        const bool is_kept_space = lines == Lines::Keep && (value == U'\n' || value == U'\t');
        if (!c) {
            out += byte_escape(static_cast<unsigned char>(text[at++]));
        } else if (is_hostile(*c) && !is_kept_space) {
            out += code_escape(*c);
        } else {
            out += text.substr(begin, at - begin);
        }
        if (out.size() + kCut.size() <= longest) fits = out.size();
        if (out.size() > longest) return out.substr(0, fits).append(kCut);
    }
    return out;
}

std::string join(const std::vector<std::string_view>& items) {
    std::string out;
    for (const std::string_view item : items) {
        if (!out.empty()) out += ", ";
        out += item;
    }
    return out;
}

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return out;
}

}  // namespace clasp::base
