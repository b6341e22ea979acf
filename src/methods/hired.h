// HiRED: class attention chooses the patches, and for a picture cut into tiles the class attention of the
// first block over the whole picture says how many patches each tile may keep. On one view the choice is
// FasterVLM's.
#pragma once

#include <span>
#include <vector>

#include "clasp/status.h"

namespace clasp::methods {

// Which patches of the whole picture speak for a tile.
enum class HiredRegion {
    Quadrant,  // those at the tile's place: what the paper means
    Strip,     // consecutive runs of the raster: what the authors' code does
};

struct HiredTiles {
    std::size_t rows = 0;  // patches of one view
    std::size_t columns = 0;
    std::size_t tile_rows = 0;  // tiles of the picture
    std::size_t tile_columns = 0;
};

struct HiredOptions {
    double base_share = 0.5;  // of the budget, for the whole picture; the authors' alpha
    HiredRegion region = HiredRegion::Quadrant;
    // Patches lost to rounding are given to the tiles with the largest remainders; the authors' code
    // loses them.
    bool gives_remainder = true;
};

struct HiredBudgets {
    std::size_t base = 0;            // for the view of the whole picture
    std::vector<std::size_t> tiles;  // row by row
};

// Shares a budget for the whole picture and all its tiles. first_block_attention: class attention of the
// first block over the whole picture, one per patch.
// Errors: InvalidArgument for wrong shapes and a share outside [0, 1]; Unsupported when the patches cannot
// be cut evenly into the regions.
Result<HiredBudgets> hired_budgets(std::span<const float> first_block_attention, const HiredTiles& shape,
                                   std::size_t budget, const HiredOptions& options);

}  // namespace clasp::methods
