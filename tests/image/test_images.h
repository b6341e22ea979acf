// Helpers shared by the tests of the image front end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "clasp/image.h"
#include "support/paths.h"

namespace clasp::image::testing {

inline std::string picture_path(const std::string& name) {
    return std::string(test::source_dir()) + "/tests/data/images/" + name;
}

inline std::vector<std::uint8_t> picture_bytes(const std::string& name) {
    std::ifstream file(picture_path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline std::array<double, 3> mean_rgb(const Image& image) {
    std::array<double, 3> sum = {};
    for (std::size_t i = 0; i < image.rgb.size(); ++i) sum[i % 3] += image.rgb[i];
    for (double& value : sum) value /= static_cast<double>(image.rgb.size() / 3);
    return sum;
}

inline double mean_absolute_difference(const Image& a, const Image& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.rgb.size(); ++i)
        sum += a.rgb[i] > b.rgb[i] ? a.rgb[i] - b.rgb[i] : b.rgb[i] - a.rgb[i];
    return sum / static_cast<double>(a.rgb.size());
}

// A picture without pattern that any resampling or shift would change.
inline Image noise_image(int width, int height, std::uint32_t seed = 1) {
    Image image;
    image.width = width;
    image.height = height;
    image.rgb.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3);
    for (auto& value : image.rgb) {
        seed = seed * 1664525U + 1013904223U;
        value = static_cast<std::uint8_t>(seed >> 24);
    }
    return image;
}

// FNV-1a, as in tests/data/images/pillow_reference.py.
inline std::uint64_t hash_of(const Image& image) {
    std::uint64_t value = 0xCBF29CE484222325U;
    for (const std::uint8_t byte : image.rgb) value = (value ^ byte) * 0x100000001B3U;
    return value;
}

}  // namespace clasp::image::testing
