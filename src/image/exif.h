// The one fact we want from Exif: which way is up.
#pragma once

#include <cstdint>
#include <span>

#include "clasp/image.h"
#include "image/work.h"

namespace clasp::image {

// tiff: the TIFF structure inside an Exif block, beginning with its byte-order mark ("II" or "MM").
// Returns the orientation of the first directory, 1 to 8; anything missing, damaged or out of range
// counts as 1. Reads a bounded number of entries and allocates nothing.
int exif_orientation(std::span<const std::uint8_t> tiff);

// Drops the "Exif\0\0" prefix that JPEG always and WebP sometimes puts before the TIFF structure.
std::span<const std::uint8_t> strip_exif_prefix(std::span<const std::uint8_t> block);

// Whether a picture of that orientation changes width for height when it is turned upright.
bool swaps_sides(int orientation);

// Turns the stored picture upright and keeps its orientation field as found. The size may swap.
Result<Image> turn_upright(Image stored, Work& work);

}  // namespace clasp::image
