// Nuwa, first stage: anchors spread over the grid by class attention, the less attended of which gather
// what is near and similar to them. (The second stage drops in the decoder.)
#pragma once

#include <span>

#include "clasp/status.h"
#include "methods/plan.h"

namespace clasp::methods {

struct NuwaOptions {
    std::size_t cell = 2;      // side of the cells that each supply candidates
    std::size_t per_cell = 0;  // candidates of each; 0 takes the fewest that suffice
    // Anchors from this quantile of their attention on stay as they are.
    double pillar_quantile = 0.55;
};

struct NuwaInput {
    std::span<const float> scores;  // class attention of the feature block, one per patch
    GramView gram;                  // cosines of the mean output of the last blocks
    std::size_t rows = 0;           // the grid
    std::size_t columns = 0;
};

// Emits exactly keep tokens in raster order, all as they were when keep covers them. An anchor that is no
// pillar becomes itself plus a weighted mean of the others, so weights do not add up to 1.
// Errors: InvalidArgument for wrong shapes and options, NaN or infinity, or when per_cell supplies fewer
// candidates than keep.
Result<Plan> nuwa(const NuwaInput& input, std::size_t keep, const NuwaOptions& options);

}  // namespace clasp::methods
