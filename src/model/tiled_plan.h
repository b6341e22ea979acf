// What becomes of a picture that is cut into tiles: LLaVA-NeXT's choice of a resolution, its tiles and the
// order of their tokens, as its authors compute them or as llama.cpp does.
#pragma once

#include <cstddef>
#include <span>

#include "clasp/fuse.h"
#include "clasp/image.h"
#include "image/preprocess.h"
#include "model/tile_rule.h"
#include "model/vision_plan.h"
#include "model/vision_types.h"

namespace clasp::model {

// The resolution that shows most of the picture's pixels, then the one that wastes least, then the first.
// There is at least one.
PixelSize choose_resolution(PixelSize picture, std::span<const PixelSize> resolutions, Compat compat);

// A rectangle of a grid of patches.
struct PatchRect {
    std::size_t left = 0;
    std::size_t top = 0;
    Grid size;
    friend bool operator==(const PatchRect&, const PatchRect&) = default;
};

// What is left of a grid over a centred picture without the patches that are padding. An odd one of them
// stays, and floating-point error counts as the authors' code has it. One side may become 0.
PatchRect unpadded(PixelSize picture, const Grid& grid);

// The overview first, then the tiles of the chosen resolution. llama.cpp makes no tiles of pictures that fit
// into one, always takes them one by one, and has the overview last.
VisionPlan tiled_plan(PixelSize picture, const TileRule& rule, const PieceShape& shape, Compat compat);

}  // namespace clasp::model
