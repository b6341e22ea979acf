// Whether the tokens that one question kept will do for the next one.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "clasp/select.h"

namespace clasp::engine {

// With HistoryMode::Auto a question chooses its own tokens when those that are there miss more than this
// share of the relevance that it would keep. docs/accuracy.md has the measurement behind it.
inline constexpr double kMaxMissedShare = 0.25;

// What a stage kept for the question before.
struct KeptAtStage {
    std::vector<TokenIndex> kept;  // visual tokens as they entered the decoder
    std::size_t n_relevant = 0;    // how many of them were chosen for their relevance
};

// scores: what each visual token is worth to the new question, at the first stage. At every stage the
// question would keep as many of the most relevant tokens as were chosen for their relevance before, ties to
// the smaller index; of their summed scores, the share of those that the stage lacks. The largest share over
// the stages; 0 without stages.
double missed_share(std::span<const float> scores, std::span<const KeptAtStage> stages);

}  // namespace clasp::engine
