// Frames as one animated PNG file, without loss.
#pragma once

#include <span>
#include <string>

#include "clasp/status.h"
#include "world/canvas.h"

namespace clasp::world {

inline constexpr int kFrameMs = 250;

// The file's bytes. Frames are of one size; after the first only what changed is stored. Plays over and over.
Result<std::string> encode_animation(std::span<const Canvas> frames);

}  // namespace clasp::world
