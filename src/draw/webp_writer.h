// Animated WebP out: frames through libwebp, the container around them is ours.
#pragma once

#include <span>
#include <string>

#include "clasp/image.h"
#include "clasp/status.h"

namespace clasp::draw {

// All frames are of one size and shown for so long; it begins again at its end. Lossless: every pixel comes
// back. Errors: invalid_argument (no frames, different sizes, beyond 16383 pixels a side), out_of_memory.
Result<std::string> encode_webp_animation(std::span<const Image> frames, int frame_ms,
                                          bool is_lossless = false);

// Replaces the file as a whole. Messages name the path.
Status write_webp_animation(std::span<const Image> frames, int frame_ms, const std::string& path);

}  // namespace clasp::draw
