// One function per format behind decode_image. Each gets bytes that begin with its format's magic,
// checks the header's size with check_size before it reserves pixels, and returns the picture as
// stored: orientation is reported, not applied. Each reports its work as it goes; told to stop, it returns
// what the work's status says.
#pragma once

#include <cstdint>
#include <span>

#include "clasp/image.h"
#include "image/work.h"

namespace clasp::image {

using Bytes = std::span<const std::uint8_t>;

Result<Image> decode_jpeg(Bytes bytes, const ImageLimits& limits, Work& work);
Result<Image> decode_png(Bytes bytes, const ImageLimits& limits, Work& work, Alpha alpha);
Result<Image> decode_webp(Bytes bytes, const ImageLimits& limits, Work& work, Alpha alpha);
Result<Image> decode_gif(Bytes bytes, const ImageLimits& limits, Work& work);
Result<Image> decode_bmp(Bytes bytes, const ImageLimits& limits, Work& work);

// The size as stored, and which way is up; as far as the decoders above read before they reserve pixels.
struct StoredHeader {
    std::uint64_t width = 0;
    std::uint64_t height = 0;
    int orientation = 1;
};
Result<StoredHeader> read_jpeg_header(Bytes bytes, const ImageLimits& limits, Work& work);
Result<StoredHeader> read_png_header(Bytes bytes, const ImageLimits& limits, Work& work);
Result<StoredHeader> read_webp_header(Bytes bytes, const ImageLimits& limits, Work& work);
Result<StoredHeader> read_gif_header(Bytes bytes, const ImageLimits& limits, Work& work);
Result<StoredHeader> read_bmp_header(Bytes bytes, const ImageLimits& limits, Work& work);

}  // namespace clasp::image
