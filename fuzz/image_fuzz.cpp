// Any bytes through the sniffing entry point: every decoder, orientation and the limits. Small limits
// keep a run fast; they are part of what is tested.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "clasp/image.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    clasp::ImageOptions options;
    options.limits.max_pixels = 1 << 18;
    options.limits.max_side = 2048;
    options.limits.max_scans = 8;
    options.limits.min_side = 1;
    const auto image = clasp::decode_image(std::span(data, size), options);
    if (!image.ok()) {
        if (image.status().message().empty()) std::abort();
        return 0;
    }
    const auto width = static_cast<std::size_t>(image->width);
    const auto height = static_cast<std::size_t>(image->height);
    if (width == 0 || height == 0 || width * height > options.limits.max_pixels) std::abort();
    if (image->rgb.size() != width * height * 3) std::abort();
    if (image->is_partial && image->warnings.empty()) std::abort();
    if (image->orientation < 1 || image->orientation > 8) std::abort();
    return 0;
}
