#include "engine/likely_tokens.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace clasp::engine {

LikelyTokens likely_tokens(std::span<const float> logits, std::int32_t token, std::size_t n_top) {
    const auto largest = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
    double sum = 0.0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - largest);
    const double log_sum = largest + std::log(sum);
    // Rounding must not make anything more than certain.
    const auto logprob = [&](std::size_t i) {
        return std::min(0.0, static_cast<double>(logits[i]) - log_sum);
    };

    LikelyTokens result;
    result.logprob = logprob(static_cast<std::size_t>(token));
    std::vector<std::int32_t> order(logits.size());
    std::iota(order.begin(), order.end(), 0);
    const auto n = static_cast<std::ptrdiff_t>(std::min(n_top, order.size()));
    std::partial_sort(order.begin(), order.begin() + n, order.end(), [&](std::int32_t a, std::int32_t b) {
        const float of_a = logits[static_cast<std::size_t>(a)];
        const float of_b = logits[static_cast<std::size_t>(b)];
        return of_a != of_b ? of_a > of_b : a < b;
    });
    for (auto id = order.begin(); id != order.begin() + n; ++id) {
        result.top.emplace_back(*id, logprob(static_cast<std::size_t>(*id)));
    }
    return result;
}

}  // namespace clasp::engine
