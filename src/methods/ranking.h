// Private to the methods. Orders of tokens by score with one rule for ties, and the checks that every
// method makes of what it gets.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "clasp/select.h"
#include "clasp/status.h"
#include "methods/plan.h"

namespace clasp::methods {

// All positions, largest score first, the smaller position among equals.
std::vector<TokenIndex> ranked(std::span<const float> scores);

// The count positions with the largest scores, rising.
std::vector<TokenIndex> highest(std::span<const float> scores, std::size_t count);

// The positions of 0 ... n - 1 that are not among the rising ones given, rising.
std::vector<TokenIndex> others(std::size_t n, std::span<const TokenIndex> chosen);

// Every one of n tokens as it is.
Plan keep_all_tokens(std::size_t n);

// The tokens as they are, sorted; all for the same reason.
Plan keep_tokens(std::vector<TokenIndex> kept, Reason reason);

// The union of two disjoint sets, sorted.
Plan keep_tokens(std::span<const TokenIndex> pivots, std::span<const TokenIndex> coverage);

// The value at position q * (n - 1) of the sorted list, between neighbours linearly. values is not empty.
double quantile(std::span<const float> values, double q);

// At least 1 token is asked for, and there are some.
Status check_budget(std::size_t keep, std::size_t n_tokens);

// One finite number per token; what names them in the error ("class attention").
Status check_scores(std::span<const float> scores, std::size_t n_tokens, std::string_view what);

// A matrix of cosines over exactly n tokens; the error names the first bad token.
Status check_cosines(const GramView& gram, std::size_t n_tokens);

}  // namespace clasp::methods
