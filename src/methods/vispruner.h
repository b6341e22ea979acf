// VisPruner: the patches with the most class attention, and from the rest those that are left when similar
// ones are deleted round by round.
#pragma once

#include <span>
#include <vector>

#include "clasp/status.h"
#include "methods/plan.h"

namespace clasp::methods {

struct VisprunerOptions {
    double important_share = 0.5;  // of the budget, for the most attended patches
    std::size_t per_round = 8;     // patches deleted at most between two pairings
};

// Shortens list to size tokens. In each round the tokens at even positions look for the most similar one
// at an odd position, those with the most similar partner are deleted (the earlier one among equals), and
// the list becomes the rest of the even positions, most similar first, then the odd ones. The order of the
// list therefore is part of the method.
void vispruner_deduplicate(const GramView& gram, std::size_t size, std::size_t per_round,
                           std::vector<TokenIndex>& list);

// class_attention as for FasterVLM; gram: cosines of the feature block's outputs, before the projector.
// Keeps exactly keep patches in raster order, all of them when keep covers them.
Result<Plan> vispruner(std::span<const float> class_attention, const GramView& gram, std::size_t keep,
                       const VisprunerOptions& options);

}  // namespace clasp::methods
