// SparseVLM: text tokens that the image speaks to rate the visual ones at three stages. Version 1.5 recycles
// part of what it drops as cluster means; the + version corrects attention for the rotation instead.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "clasp/select.h"
#include "clasp/status.h"
#include "methods/budget.h"
#include "methods/plan.h"

namespace clasp::methods {

// Tokens that recycling adds when n_dropped are dropped: int(m / 10) + 1 of the m = int(0.3 n_dropped) + 1
// best; 0 when nothing is dropped.
std::size_t recycled_count(std::size_t n_dropped);

// How many tokens are there after each stage that keeps so many, recycled ones included.
std::vector<std::size_t> counts_with_recycling(std::size_t n_visual, std::span<const std::size_t> keeps);

// Keeps of the three stages for a budget, whose layers are the first that run on fewer tokens. For 576
// tokens and a published budget (192, 128, 96, 64) `published` gives the published ones; else they are in the
// published proportion of the nearest budget, such that the average (or the final count) meets the budget.
struct SparsevlmCounts {
    std::size_t n_visual = 0;
    std::size_t n_layers = 0;
    std::array<std::size_t, 3> layers = {};
    bool recycles = false;
    bool is_plus = false;
    bool published = false;
};
Result<std::vector<std::size_t>> sparsevlm_keeps(const SparsevlmCounts& request, const Budget& budget);

// Kept live tokens in their order, then the recycled ones by rank of their centres. hidden: live x width.
// with_sums: members are added up and joined by cosine (paper) instead of averaged by distance (code).
Plan recycle(std::span<const TokenIndex> live, std::span<const float> scores, const FeatureView& hidden,
             std::size_t keep, bool with_sums);

// Attention (heads x references x live) divided by the rotation's bias (references x live), mean over the
// references and over the n_best heads whose corrected attention is largest in sum.
std::vector<float> corrected_scores(const FeatureView& rows, const FeatureView& bias, std::size_t n_heads,
                                    std::size_t n_best);

}  // namespace clasp::methods
