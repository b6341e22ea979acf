// What becomes of a picture in SmolVLM and Idefics3: scaled by its longer side, stretched to whole tiles, an
// overview behind them, with words that say where each tile lies.
#pragma once

#include "clasp/image.h"
#include "clasp/status.h"
#include "model/vision_plan.h"
#include "model/vision_types.h"

namespace clasp::model {

struct SmolVlmRule {
    int tile_size = 0;     // pixels per side of a tile and of the overview
    int longest_side = 0;  // of the scaled picture; 0: the file does not say
};

// The published models scale pictures to four tiles; files that do not say belong to them.
inline constexpr int kUsualTilesPerSide = 4;

struct SmolVlmSizes {
    PixelSize scaled;  // longer side as the rule says, the other even
    PixelSize tiled;   // both sides multiples of the tile
};

// Both as the authors compute them. With llama.cpp the second is the first rounded up; it has no pictures of
// which one side is less than a pixel, for which a side of the first is 0.
SmolVlmSizes smolvlm_sizes(PixelSize picture, const SmolVlmRule& rule, Compat compat);

// A picture that is one tile is its overview alone; llama.cpp has the tile too. llama.cpp takes another way
// for files that do not say a longest side: the nearest number of tiles, on black. Errors (invalid_argument):
// what llama.cpp cannot do; unsupported: more than kMaxVisionTokens tokens. Fewer tiles, if the options want
// that, are those of a shorter longest side: the authors' own way.
Result<VisionPlan> smolvlm_plan(PixelSize picture, const SmolVlmRule& rule, const PieceShape& shape,
                                const PlanOptions& options);

// Tiles that a picture is cut into at most.
std::size_t smolvlm_max_tiles(const SmolVlmRule& rule);

}  // namespace clasp::model
