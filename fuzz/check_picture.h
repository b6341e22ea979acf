// What must hold of every picture, shared by the targets of the image front end. Small limits keep a run
// fast; they are part of what is tested.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "clasp/image.h"

namespace clasp::fuzz {

inline void check_picture(std::span<const std::uint8_t> bytes) {
    ImageOptions options;
    options.limits.max_pixels = 1 << 18;
    options.limits.max_side = 2048;
    options.limits.max_scans = 8;
    options.limits.min_side = 1;
    options.limits.max_work = std::uint64_t{1} << 24;
    const auto header = read_image_header(bytes, options);
    if (!header.ok() && header.status().message().empty()) std::abort();
    const auto image = decode_image(bytes, options);
    if (!image.ok()) {
        if (image.status().message().empty()) std::abort();
        return;
    }
    const auto width = static_cast<std::size_t>(image->width);
    const auto height = static_cast<std::size_t>(image->height);
    if (width == 0 || height == 0 || width * height > options.limits.max_pixels) std::abort();
    // A damaged file may hide which way is up, but never its size.
    const bool has_size = header.ok() && (header->size == PixelSize{image->width, image->height} ||
                                          header->size == PixelSize{image->height, image->width});
    if (!has_size) std::abort();
    if (image->rgb.size() != width * height * 3) std::abort();
    if (image->is_partial && image->warnings.empty()) std::abort();
    if (image->orientation < 1 || image->orientation > 8) std::abort();
}

}  // namespace clasp::fuzz
