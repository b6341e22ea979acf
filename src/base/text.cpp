#include "base/text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

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

template <typename IsPlain>
std::string quoted(std::string_view text, std::size_t longest, IsPlain is_plain) {
    constexpr std::string_view kHex = "0123456789abcdef";
    std::string out = "'";
    for (const char c : text.substr(0, longest)) {
        const auto byte = static_cast<unsigned char>(c);
        if (is_plain(byte)) {
            out += c;
        } else {
            out += "\\x";
            out += kHex[byte >> 4U];
            out += kHex[byte & 15U];
        }
    }
    if (text.size() > longest) out += "...";
    out += '\'';
    return out;
}

}  // namespace

std::string in_quotes(std::string_view text) {
    return quoted(text, kLongestText, [](unsigned char byte) { return byte >= 0x20 && byte < 0x7f; });
}

std::string path_in_quotes(std::string_view path) {
    return quoted(path, kLongestPath, [](unsigned char byte) { return byte >= 0x20 && byte != 0x7f; });
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
