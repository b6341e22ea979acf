// DivPrune: a set whose closest two tokens are as far apart as a greedy choice can make them.
#pragma once

#include <span>
#include <vector>

#include "clasp/status.h"
#include "methods/plan.h"

namespace clasp::methods {

// Appends to chosen, count times, the live token whose largest similarity to all of chosen is smallest; the
// smaller index among equals. With chosen empty the first is the token whose nearest other live token is
// farthest. live is rising, chosen a part of it, and at least count live tokens are not chosen.
void add_most_distant(const GramView& gram, std::span<const TokenIndex> live, std::size_t count,
                      std::vector<TokenIndex>& chosen);

// gram: cosines of the projected tokens. Keeps exactly keep tokens in raster order, all of them when keep
// covers them. Costs keep * rows comparisons.
Result<Plan> divprune(const GramView& gram, std::size_t keep);

}  // namespace clasp::methods
