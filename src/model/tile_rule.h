// How a file wants pictures cut into tiles (LLaVA-NeXT, its authors' "anyres"). Plain data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "clasp/image.h"
#include "clasp/status.h"

namespace clasp::model {

// In which order the decoder gets the patches of the tiles.
enum class TileMerge : std::uint8_t {
    Flat,          // tile by tile
    Spatial,       // row by row over all tiles
    SpatialUnpad,  // the same without the rows or columns that are padding, a newline vector behind each row
};

inline constexpr std::array kAllTileMerges = {TileMerge::Flat, TileMerge::Spatial, TileMerge::SpatialUnpad};

// As files call it: "flat", "spatial", "spatial_unpad".
std::string_view tile_merge_name(TileMerge merge);
// Error: there is no such order; the message lists those that are.
Result<TileMerge> parse_tile_merge(std::string_view name);

struct TileRule {
    std::vector<PixelSize> resolutions;  // at least one; both sides are multiples of the tile's
    int tile_size = 0;                   // pixels per side of a tile and of the overview
    std::size_t patches_per_side = 0;    // of a tile
    TileMerge merge = TileMerge::SpatialUnpad;
    bool has_newline = true;           // the file brings the vector that SpatialUnpad needs
    bool newlines_are_tokens = false;  // not the file's: they are chosen like patches
};

}  // namespace clasp::model
