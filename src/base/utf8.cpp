#include "base/utf8.h"

namespace clasp::base {

namespace {

struct Form {
    std::size_t n_bytes;
    char32_t bits;     // payload of the lead byte
    char32_t minimum;  // smallest value that needs this many bytes
};

std::optional<Form> form_of(unsigned char lead) {
    if (lead < 0x80) return Form{1, lead, 0};
    if (lead >= 0xC2 && lead <= 0xDF) return Form{2, lead & 0x1Fu, 0x80};
    if (lead >= 0xE0 && lead <= 0xEF) return Form{3, lead & 0x0Fu, 0x800};
    if (lead >= 0xF0 && lead <= 0xF4) return Form{4, lead & 0x07u, 0x10000};
    return std::nullopt;
}

}  // namespace

std::optional<char32_t> next_code_point(std::string_view text, std::size_t& at) {
    const auto form = form_of(static_cast<unsigned char>(text[at]));
    if (!form || text.size() - at < form->n_bytes) return std::nullopt;
    char32_t value = form->bits;
    for (std::size_t i = 1; i < form->n_bytes; ++i) {
        const auto byte = static_cast<unsigned char>(text[at + i]);
        if ((byte & 0xC0u) != 0x80u) return std::nullopt;
        value = (value << 6u) | (byte & 0x3Fu);
    }
    const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
    if (value < form->minimum || value > 0x10FFFF || surrogate) return std::nullopt;
    at += form->n_bytes;
    return value;
}

void append_utf8(std::string& out, char32_t c) {
    const auto put = [&out](char32_t byte) { out.push_back(static_cast<char>(byte)); };
    if (c < 0x80) {
        put(c);
    } else if (c < 0x800) {
        put(0xC0u | (c >> 6u));
        put(0x80u | (c & 0x3Fu));
    } else if (c < 0x10000) {
        put(0xE0u | (c >> 12u));
        put(0x80u | ((c >> 6u) & 0x3Fu));
        put(0x80u | (c & 0x3Fu));
    } else {
        put(0xF0u | (c >> 18u));
        put(0x80u | ((c >> 12u) & 0x3Fu));
        put(0x80u | ((c >> 6u) & 0x3Fu));
        put(0x80u | (c & 0x3Fu));
    }
}

std::optional<std::size_t> first_invalid_utf8(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
        if (!next_code_point(text, at)) return at;
    }
    return std::nullopt;
}

}  // namespace clasp::base
