#include "eval/plain_text.h"

#include <cstddef>

#include "base/utf8.h"

namespace clasp::eval {

namespace {

bool is_space(char32_t c) {
    return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
           c == 0x3000;
}

// Ranges where capitals and small letters alternate, capital first.
bool alternates_from_even(char32_t c) {
    return (c >= 0x100 && c <= 0x12F) || (c >= 0x132 && c <= 0x137) || (c >= 0x14A && c <= 0x177) ||
           (c >= 0x1E00 && c <= 0x1E95) || (c >= 0x1EA0 && c <= 0x1EFF) || (c >= 0x460 && c <= 0x481) ||
           (c >= 0x48A && c <= 0x4BF) || (c >= 0x4D0 && c <= 0x52F);
}

bool alternates_from_odd(char32_t c) {
    return (c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17E);
}

char32_t lower_code_point(char32_t c) {
    if ((c >= U'A' && c <= U'Z') || (c >= 0xC0 && c <= 0xDE && c != 0xD7) || (c >= 0x391 && c <= 0x3AB) ||
        (c >= 0x410 && c <= 0x42F) || (c >= 0xFF21 && c <= 0xFF3A)) {
        return c + 32;
    }
    if (c >= 0x400 && c <= 0x40F) return c + 80;
    if (c >= 0x531 && c <= 0x556) return c + 48;
    if (c == 0x178) return 0xFF;
    if (alternates_from_even(c)) return c | 1U;
    if (alternates_from_odd(c)) return c + (c & 1U);
    return c;
}

// Calls take(begin, end, is_space) for each code point or stray byte.
template <typename Take>
void each_character(std::string_view text, Take take) {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = at;
        const auto c = base::next_code_point(text, at);
        if (!c) ++at;
        take(begin, at, c && is_space(*c));
    }
}

}  // namespace

std::string lower_text(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        if (const auto c = base::next_code_point(text, at)) {
            base::append_utf8(out, lower_code_point(*c));
        } else {
            out.push_back(text[at++]);
        }
    }
    return out;
}

std::vector<std::string_view> words(std::string_view text) {
    std::vector<std::string_view> words;
    std::size_t start = 0;
    each_character(text, [&](std::size_t begin, std::size_t end, bool space) {
        if (!space) return;
        if (begin > start) words.push_back(text.substr(start, begin - start));
        start = end;
    });
    if (start < text.size()) words.push_back(text.substr(start));
    return words;
}

std::string_view strip(std::string_view text) {
    std::size_t first = text.size();
    std::size_t last = 0;
    each_character(text, [&](std::size_t begin, std::size_t end, bool space) {
        if (space) return;
        if (first == text.size()) first = begin;
        last = end;
    });
    return first == text.size() ? std::string_view() : text.substr(first, last - first);
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
    std::string out;
    out.reserve(text.size());
    while (true) {
        const std::size_t at = text.find(from);
        out += text.substr(0, at);
        if (at == std::string_view::npos) return out;
        out += to;
        text.remove_prefix(at + from.size());
    }
}

}  // namespace clasp::eval
