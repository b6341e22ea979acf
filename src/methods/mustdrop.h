// MustDrop inside the decoder: visual tokens that no text attends to leave, but never the key tokens that the
// encoder marked.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "clasp/select.h"

namespace clasp::methods {

struct MustdropThresholds {
    double global = 0.001;      // of the attention that all text gives together
    double individual = 0.001;  // of the attention that one text token gives
};

// rows: text tokens x visual tokens, probabilities. The authors drop a token that falls below both
// thresholds; to keep exactly `keep` of them the tokens are ranked by the larger of their two ratios to the
// thresholds. Key tokens stay first. Positions, rising.
std::vector<TokenIndex> choose_mustdrop(const FeatureView& rows, const std::vector<bool>& is_key,
                                        std::size_t keep, const MustdropThresholds& thresholds);

}  // namespace clasp::methods
