#include "image/plain_resize.h"

#include <algorithm>
#include <cstddef>
#include <new>
#include <string>

namespace clasp::image {

namespace {

std::size_t extent_of(int value) {
    return static_cast<std::size_t>(value);
}

// The two samples of an axis that make one, and how much of the second.
struct Pair {
    std::size_t first = 0;
    std::size_t second = 0;
    float share = 0.0F;
};

// Of the samples [begin, begin + count) of an axis that gets `out_size`; in single precision, as the original
// computes places.
std::vector<Pair> pairs_of(int in_size, int out_size, int begin, int count) {
    const float scale = static_cast<float>(in_size) / static_cast<float>(out_size);
    const std::size_t last = extent_of(in_size) - 1;
    std::vector<Pair> pairs(extent_of(count));
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        const auto at = static_cast<float>(extent_of(begin) + i);
        const float place = std::max(scale * (at + 0.5F) - 0.5F, 0.0F);
        const std::size_t first = std::min(static_cast<std::size_t>(place), last);
        pairs[i] = {first, std::min(first + 1, last), place - static_cast<float>(first)};
    }
    return pairs;
}

// Returns where the next row goes.
float* mix_row(const Image& image, std::size_t channel, const Pair& row, const std::vector<Pair>& columns,
               float* out) {
    const std::size_t row_bytes = 3 * extent_of(image.width);
    const std::uint8_t* above = image.rgb.data() + row.first * row_bytes + channel;
    const std::uint8_t* below = image.rgb.data() + row.second * row_bytes + channel;
    for (const Pair& column : columns) {
        const auto mix = [&](const std::uint8_t* from) {
            return (1.0F - column.share) * static_cast<float>(from[3 * column.first]) +
                   column.share * static_cast<float>(from[3 * column.second]);
        };
        *out++ = (1.0F - row.share) * mix(above) + row.share * mix(below);
    }
    return out;
}

std::string text_of_size(Size size) {
    return std::to_string(size.width) + " x " + std::to_string(size.height) + " pixels";
}

}  // namespace

Result<PixelPlanes> resize_plain(const Image& image, Size target, int left, int top, Size part) {
    if (image.width < 1 || image.height < 1) return Status(Code::InvalidArgument, "the picture is empty");
    if (left < 0 || top < 0 || part.width < 1 || part.height < 1 || left > target.width - part.width ||
        top > target.height - part.height) {
        return Status(Code::InvalidArgument, "a part of " + text_of_size(part) + " at " +
                                                 std::to_string(left) + ", " + std::to_string(top) +
                                                 " does not lie inside a picture of " + text_of_size(target));
    }
    PixelPlanes planes = {part.width, part.height, {}};
    try {
        planes.values.resize(3 * extent_of(part.width) * extent_of(part.height));
        const std::vector<Pair> columns = pairs_of(image.width, target.width, left, part.width);
        const std::vector<Pair> rows = pairs_of(image.height, target.height, top, part.height);
        float* out = planes.values.data();
        for (std::size_t channel = 0; channel < 3; ++channel) {
            for (const Pair& row : rows) out = mix_row(image, channel, row, columns, out);
        }
    } catch (const std::bad_alloc&) {
        return Status(Code::OutOfMemory, "not enough memory to resample a picture to " + text_of_size(part));
    }
    return planes;
}

Result<std::vector<float>> normalise(const PixelPlanes& planes, const Normalisation& normalisation) {
    const std::size_t n_pixels = planes.values.size() / 3;
    std::vector<float> values;
    try {
        values.resize(planes.values.size());
    } catch (const std::bad_alloc&) {
        return Status(Code::OutOfMemory, "not enough memory to normalise a picture");
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::size_t channel = i / n_pixels;
        values[i] =
            (planes.values[i] / 255.0F - normalisation.mean[channel]) / normalisation.deviation[channel];
    }
    return values;
}

}  // namespace clasp::image
