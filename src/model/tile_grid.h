// InternVL's tiles: a picture is stretched over the grid of tiles whose shape is nearest to its own, and
// shown once more as a whole, last.
#pragma once

#include <cstddef>
#include <vector>

#include "clasp/fuse.h"
#include "clasp/image.h"
#include "model/vision_plan.h"

namespace clasp::model {

// How many tiles a picture may have, without the thumbnail.
struct TileRange {
    std::size_t min = 1;
    std::size_t max = 12;
    friend bool operator==(const TileRange&, const TileRange&) = default;
};

// Every grid in the range, by its number of tiles, then by its columns.
std::vector<Grid> tile_grids(const TileRange& range);

// The grid whose width over height is nearest to the picture's. Of two that are equally near, the larger if
// the picture has more than half of its pixels. The range is not empty.
Grid choose_tile_grid(PixelSize picture, const TileRange& range, int tile_size);

// The sizes that llama.cpp chooses from, in its order. Empty for some ranges that begin above 1.
std::vector<PixelSize> llama_cpp_tile_sizes(const TileRange& range, int tile_size);

// The tiles row by row, then the thumbnail, if there is more than one tile. llama.cpp keeps the picture's
// aspect, and cuts no picture that fits into a tile. Errors: no grid to choose from.
Result<VisionPlan> tile_grid_plan(PixelSize picture, const TileRange& range, int tile_size,
                                  const PieceShape& shape, Compat compat);

}  // namespace clasp::model
