// Which tokens of a picture the encoder saw in the overview, and which in which tile.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "methods/inputs.h"
#include "model/vision_plan.h"

namespace clasp::engine {

struct OwnedTileParts {
    Grid tiles;
    Grid overview;
    std::vector<std::size_t> tile_of;

    [[nodiscard]] methods::TileParts view() const { return {tiles, overview, tile_of}; }
};

// Nothing where the picture is not seen as tiles, which are parts of one view, and an overview, which is the
// only piece of another; where tokens are made from several patches; and where some are no patches.
std::optional<OwnedTileParts> tile_parts(const model::VisionPlan& plan);

}  // namespace clasp::engine
