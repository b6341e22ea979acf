// Any bytes as an Exif block: an orientation from 1 to 8, with and without the prefix.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "image/exif.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::span<const std::uint8_t> block(data, size);
    for (const auto& tiff : {block, clasp::image::strip_exif_prefix(block)}) {
        const int orientation = clasp::image::exif_orientation(tiff);
        if (orientation < 1 || orientation > 8) std::abort();
    }
    return 0;
}
