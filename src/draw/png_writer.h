// PNG out, through libpng.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "clasp/image.h"

namespace clasp::draw {

Result<std::vector<std::uint8_t>> encode_png(const Image& image);

// Replaces the file, whole or not at all. Messages name the path.
Status write_png(const Image& image, const std::string& path);

}  // namespace clasp::draw
