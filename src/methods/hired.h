// HiRED: class attention chooses the patches. For a picture that the encoder sees as an overview and as tiles
// the class attention of the first block over the overview says how many patches each tile may keep. On one
// view the choice is FasterVLM's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "clasp/grid.h"
#include "clasp/status.h"
#include "methods/inputs.h"
#include "methods/plan.h"

namespace clasp::methods {

// Which patches of the overview speak for a tile.
enum class HiredRegion : std::uint8_t {
    Place,  // those at the tile's place: what the paper means
    Strip,  // consecutive runs of the raster: what the authors' code does
};

struct HiredOptions {
    double base_share = 0.5;  // of the budget, for the overview; the authors' alpha
    HiredRegion region = HiredRegion::Place;
    // Patches lost to rounding, and those that a tile has no room for, are given to the tiles with the
    // largest remainders; the authors' code loses them.
    bool gives_remainder = true;
};

struct HiredBudgets {
    std::size_t base = 0;            // for the overview
    std::vector<std::size_t> tiles;  // row by row
};

// Shares a budget for an overview and its tiles. first_block_attention: class attention of the first block
// over the overview, one per patch. rooms: patches of each tile, row by row; padding is none of them.
// Errors: InvalidArgument for wrong shapes, a share outside [0, 1], and a budget of more than there is.
Result<HiredBudgets> hired_budgets(std::span<const float> first_block_attention, const Grid& overview,
                                   const Grid& tiles, std::span<const std::size_t> rooms, std::size_t budget,
                                   const HiredOptions& options);

// The most attended patches of the overview and of each tile within their shares, in their order: exactly
// `keep`, or fewer where rounding loses some. Both rows of class attention have one probability per row of
// the picture.
Result<Plan> hired(std::span<const float> class_attention, std::span<const float> first_block_attention,
                   const TileParts& parts, std::size_t keep, const HiredOptions& options);

}  // namespace clasp::methods
