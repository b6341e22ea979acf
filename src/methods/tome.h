// ToMe: in every block of the encoder, between attention and feed-forward, the most similar pairs of tokens
// become one.
#pragma once

#include <span>
#include <vector>

#include "clasp/status.h"
#include "methods/plan.h"

namespace clasp::methods {

// keys: cosines of the tokens' keys in this block, mean over heads; token 0 is the class token if there is
// one, which is never merged. sizes: patches in each token so far; the plan holds those of the new tokens.
// Merges exactly n_merged tokens: tokens at even positions look for the most similar one at an odd position,
// those with the most similar partner go into it as a mean weighted by sizes. The new list is the rest of the
// even positions, then the odd ones.
// Errors: InvalidArgument when more than half of the tokens (the class token aside) should go, for wrong
// shapes, NaN or infinity, a size that is not positive.
Result<Plan> tome_step(const GramView& keys, bool has_class, std::size_t n_merged,
                       std::span<const float> sizes);

}  // namespace clasp::methods
