// JPEG out, through libjpeg.
#pragma once

#include <string>

#include "clasp/image.h"
#include "clasp/status.h"

namespace clasp::draw {

inline constexpr int kJpegQuality = 90;

// Full colour resolution: thin coloured lines must not smear. Errors: invalid_argument (an empty picture, or
// one beyond 65,500 pixels a side), out_of_memory.
Result<std::string> encode_jpeg(const Image& image, int quality = kJpegQuality);

// Replaces the file as a whole. Messages name the path.
Status write_jpeg(const Image& image, const std::string& path);

}  // namespace clasp::draw
