// Pictures for tests that need no codec: 24-bit BMP files made in place.
#pragma once

#include <cstdint>
#include <string>

namespace clasp::test {

// side x side pixels; `value(i)` is byte i of the pixel data. `side` must be a multiple of 4: rows are not
// padded.
template <typename Value>
std::string make_bmp(std::uint32_t width, std::uint32_t height, const Value& value) {
    std::string bmp = "BM";
    const auto put = [&bmp](std::uint32_t number, int n_bytes) {
        for (int i = 0; i < n_bytes; ++i) bmp.push_back(static_cast<char>((number >> (8 * i)) & 0xffU));
    };
    const std::uint32_t n_values = width * height * 3;
    for (const std::uint32_t field : {54 + n_values, 0U, 54U, 40U, width, height}) put(field, 4);
    put(1, 2);
    put(24, 2);
    for (int i = 0; i < 6; ++i) put(0, 4);
    for (std::uint32_t i = 0; i < n_values; ++i) put(value(i), 1);
    return bmp;
}

}  // namespace clasp::test
