// DART: tokens that resemble none of a few pivots are the ones worth keeping.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "clasp/select.h"

namespace clasp::methods {

struct DartInput {
    std::span<const float> key_norms;  // L1, per visual token
    FeatureView hidden;                // per visual token
    std::span<const float> text_key_norms;
    FeatureView text_hidden;
};

struct DartChoice {
    std::vector<TokenIndex> pivots;  // rising
    std::vector<TokenIndex> others;  // rising
};

// Exactly `keep` visual tokens, below their number: the n_pivots with the largest key norms, and for each
// pivot in turn (visual ones by falling norm, then as many text tokens by falling norm) its share of those
// least similar to it that are left. Shares are equal, the first pivots take what is over.
DartChoice choose_dart(const DartInput& input, std::size_t keep, std::size_t n_pivots);

}  // namespace clasp::methods
