// PruMerge: the patches whose class attention stands out stay, each takes in its most similar neighbours,
// and one more token sums up the rest. PruMerge+ adds evenly spaced patches.
#pragma once

#include <span>

#include "clasp/status.h"
#include "methods/plan.h"

namespace clasp::methods {

struct PrumergeOptions {
    bool is_plus = false;
    std::size_t neighbours = 32;  // that each kept patch takes in; fewer when there are not so many
    bool sorts = false;           // raster order, the sum of the rest last; the authors emit by attention
};

// How many numbers stand out: those above Q3 + 1.5 * (Q3 - Q1).
std::size_t count_outliers(std::span<const float> values);

// class_attention: softmax over all keys of the class token's query, without split into heads, of the last
// block, one per patch; keys: cosines of the patches' unsplit keys of that block. A neighbour counts with
// its class attention as weight, so weights do not add up to 1.
// Emits exactly keep tokens: kept patches, then the token that sums up the dropped ones, which takes
// the place of the most attended of them. With keep = 1 that one is left out; with PruMerge+ a quarter of the
// patches is chosen by attention, the rest evenly. All patches as they were when keep covers them.
Result<Plan> prumerge(std::span<const float> class_attention, const GramView& keys, std::size_t keep,
                      const PrumergeOptions& options);

// The authors' own rule for how many patches stay: as many as stand out, at least one. PruMerge+ adds every
// step-th patch, step being a third of the patches per outlier.
Result<Plan> prumerge_adaptive(std::span<const float> class_attention, const GramView& keys,
                               const PrumergeOptions& options);

}  // namespace clasp::methods
