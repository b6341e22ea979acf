// How likely tokens are by the model's logits, as natural logarithms of probabilities.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace clasp::engine {

struct LikelyTokens {
    double logprob = 0.0;                              // of the token that was asked about
    std::vector<std::pair<std::int32_t, double>> top;  // the likeliest first; equal ones by their number
};

// logits: all finite, one per token of the vocabulary. n_top may exceed it.
LikelyTokens likely_tokens(std::span<const float> logits, std::int32_t token, std::size_t n_top);

}  // namespace clasp::engine
