#include "engine/likely_tokens.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace clasp::engine {
namespace {

// log(exp(x_i) / sum exp(x)), in the plainest way.
double plain_logprob(const std::vector<float>& logits, std::size_t i) {
    double sum = 0.0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
    return std::log(std::exp(static_cast<double>(logits[i])) / sum);
}

TEST(LikelyTokens, AreTheLogarithmsOfTheSoftmaxInOrder) {
    std::mt19937 random(3);
    std::normal_distribution<float> normal(0.0F, 3.0F);
    for (const std::size_t n : {1U, 2U, 7U, 300U}) {
        std::vector<float> logits(n);
        for (float& logit : logits) logit = normal(random);
        if (n > 2) logits[2] = logits[0];  // equal ones
        const auto token = static_cast<std::int32_t>(n / 2);
        const LikelyTokens likely = likely_tokens(logits, token, 5);
        EXPECT_NEAR(likely.logprob, plain_logprob(logits, n / 2), 1e-9);
        ASSERT_EQ(likely.top.size(), std::min<std::size_t>(5, n));
        for (std::size_t i = 0; i < likely.top.size(); ++i) {
            const auto [id, logprob] = likely.top[i];
            EXPECT_NEAR(logprob, plain_logprob(logits, static_cast<std::size_t>(id)), 1e-9);
            std::size_t n_before = 0;
            for (std::size_t j = 0; j < n; ++j) {
                const float own = logits[static_cast<std::size_t>(id)];
                const bool is_before =
                    logits[j] > own || (logits[j] == own && j < static_cast<std::size_t>(id));
                if (is_before) ++n_before;
            }
            EXPECT_EQ(n_before, i);
        }
    }
}

TEST(LikelyTokens, AreNeverMoreThanCertain) {
    const std::vector<float> logits = {1e30F, -1e30F, 0.0F};
    const LikelyTokens likely = likely_tokens(logits, 0, 0);
    EXPECT_EQ(likely.logprob, 0.0);
    EXPECT_TRUE(likely.top.empty());
}

}  // namespace
}  // namespace clasp::engine
