// One function per format behind decode_image. Each gets bytes that begin with its format's magic,
// checks the header's size with check_size before it reserves pixels, and returns the picture as
// stored: orientation is reported, not applied.
#pragma once

#include <cstdint>
#include <span>

#include "clasp/image.h"

namespace clasp::image {

using Bytes = std::span<const std::uint8_t>;

Result<Image> decode_jpeg(Bytes bytes, const ImageLimits& limits);
Result<Image> decode_png(Bytes bytes, const ImageLimits& limits);
Result<Image> decode_webp(Bytes bytes, const ImageLimits& limits);
Result<Image> decode_gif(Bytes bytes, const ImageLimits& limits);
Result<Image> decode_bmp(Bytes bytes, const ImageLimits& limits);

}  // namespace clasp::image
