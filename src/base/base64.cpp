#include "base/base64.h"

#include <array>
#include <cstdint>

namespace clasp::base {

namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNone = 64;

constexpr std::array<std::uint8_t, 256> make_values() {
    std::array<std::uint8_t, 256> values{};
    values.fill(kNone);
    for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
        values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
    }
    return values;
}

constexpr std::array<std::uint8_t, 256> kValues = make_values();

}  // namespace

Result<std::string> decode_base64(std::string_view text) {
    for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
    if (text.size() % 4 == 1) return Status(Code::Corrupt, "base64 text has an impossible length");
    std::string bytes;
    bytes.reserve(text.size() / 4 * 3 + 2);
    std::uint32_t bits = 0;
    int n_bits = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const std::uint32_t value = kValues[static_cast<unsigned char>(text[i])];
        if (value == kNone) {
            return Status(Code::Corrupt, "character " + std::to_string(i) + " is not base64");
        }
        bits = (bits << 6U) | value;
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            bytes.push_back(static_cast<char>((bits >> static_cast<unsigned>(n_bits)) & 0xFFU));
        }
    }
    return bytes;
}

}  // namespace clasp::base
