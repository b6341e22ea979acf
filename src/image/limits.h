// The one place where a picture's stated size is judged, and the one that reserves memory for pixels.
#pragma once

#include <cstdint>

#include "clasp/image.h"

namespace clasp::image {

// Pixels that a damaged file does not define: mid grey, as libjpeg paints them.
inline constexpr std::uint8_t kMissingPixel = 128;

// width and height as a header states them, not yet trusted in any way.
Status check_size(std::uint64_t width, std::uint64_t height, const ImageLimits& limits);

// An image of that size filled with one value. The size must have passed check_size or be our own.
Result<Image> make_image(std::uint64_t width, std::uint64_t height, std::uint8_t fill);

}  // namespace clasp::image
