// Balanced token pruning: early stages care for diversity, later ones for attention.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "clasp/select.h"
#include "methods/inputs.h"

namespace clasp::methods {

// Positions by the last token's attention, rebalanced: of the `extra` highest scores, those before `half`
// come first, then the others, both by falling score; the first `count` of them, rising.
std::vector<TokenIndex> rebalanced(std::span<const float> scores, std::size_t count, std::size_t extra,
                                   std::size_t half);

// `count` more positions that are far from the chosen ones and from each other: again and again the one
// whose largest cosine to everything chosen is smallest (with nothing chosen: whose largest cosine to any
// other is smallest). The result holds the chosen ones too and rises.
std::vector<TokenIndex> diverse(const GramView& cosines, std::vector<TokenIndex> chosen, std::size_t count);

// `count` of the patches, spread over the grid: starting with the first, again and again the one whose
// smallest Manhattan distance to those taken is largest. Positions into `patches`, rising.
std::vector<TokenIndex> spread_out(std::span<const TokenIndex> patches, Grid grid, std::size_t count);

struct BtpInput {
    std::span<const float> scores;        // attention logits of the last token
    GramView cosines;                     // of the hidden states
    std::span<const TokenIndex> patches;  // of each token
    Grid grid;
};

// The choice at stage 0, 1 or 2 (and later ones like 2): exactly `keep` positions, rising.
std::vector<TokenIndex> choose_btp(const BtpInput& input, std::size_t stage, std::size_t keep);

}  // namespace clasp::methods
