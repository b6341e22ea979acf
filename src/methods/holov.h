// HoloV: the raster is cut into chunks, each gets a share of the budget by its attention and by how unevenly
// its tokens resemble each other, and gives it to its most attended tokens.
#pragma once

#include <span>

#include "clasp/status.h"
#include "methods/plan.h"

namespace clasp::methods {

struct HolovOptions {
    std::size_t chunks = 16;
    double variance_weight = 0.09;  // of the similarities' variance against the attention
    // Places that a full chunk cannot use go round the other chunks, best first; the authors' code fills
    // them with zero vectors.
    bool pads_with_zeros = false;
    bool sorts = true;  // raster order inside a chunk; the authors emit by attention
};

// class_attention as for FasterVLM; gram: cosines of the projected tokens. Emits exactly keep tokens, all as
// they were when keep covers them. A zero vector takes the place of the most attended
// of the dropped.
Result<Plan> holov(std::span<const float> class_attention, const GramView& gram, std::size_t keep,
                   const HolovOptions& options);

}  // namespace clasp::methods
