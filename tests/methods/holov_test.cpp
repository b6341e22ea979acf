#include "methods/holov.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "token_case.h"

namespace clasp::methods {
namespace {

using namespace testing;

// Steps 1 to 4 of the authors' code on plain vectors; quotas may exceed their chunk.
struct HolovReference {
    std::vector<std::size_t> begins;
    std::vector<std::size_t> sizes;
    std::vector<double> scores;
    std::vector<std::size_t> quotas;
};

HolovReference holov_reference(const Rows& features, const std::vector<float>& attention, std::size_t keep,
                               std::size_t n_chunks) {
    HolovReference result;
    const std::size_t n = features.size();
    std::size_t begin = 0;
    for (std::size_t c = 0; c < n_chunks; ++c) {
        const std::size_t size = n / n_chunks + (c < n % n_chunks ? 1 : 0);
        std::vector<double> variances;
        std::vector<double> scaled;
        for (std::size_t i = 0; i < size; ++i) {
            std::vector<double> row;
            for (std::size_t j = 0; j < size; ++j) {
                row.push_back(i == j ? 0.0 : cosine(features[begin + i], features[begin + j]));
            }
            double mean = 0;
            for (const double value : row) mean += value / static_cast<double>(size - 1);
            double variance = 0;
            for (const double value : row) {
                variance += (value - mean) * (value - mean) / static_cast<double>(size - 1);
            }
            variances.push_back(variance);
            scaled.push_back(1000.0 * static_cast<double>(attention[begin + i]));
        }
        double mean_attention = 0;
        double mean_variance = 0;
        for (const double value : scaled) mean_attention += std::abs(value) / static_cast<double>(size);
        for (const double value : variances) mean_variance += value / static_cast<double>(size);
        const double scale = mean_attention / (mean_variance + 1e-6);
        double score = 0;
        for (std::size_t i = 0; i < size; ++i) {
            score += (scaled[i] + 0.09 * scale * variances[i]) / static_cast<double>(size);
        }
        result.begins.push_back(begin);
        result.sizes.push_back(size);
        result.scores.push_back(score);
        begin += size;
    }
    double total = 1e-6;
    for (const double score : result.scores) total += score;
    std::size_t given = 0;
    for (const double score : result.scores) {
        result.quotas.push_back(
            static_cast<std::size_t>(std::floor(score / total * static_cast<double>(keep))));
        given += result.quotas.back();
    }
    std::vector<float> order(result.scores.begin(), result.scores.end());
    for (const TokenIndex chunk : by_score(order)) {
        if (given < keep) {
            ++result.quotas[chunk];
            ++given;
        }
    }
    return result;
}

TEST(Holov, AgreesWithTheStepsOnPlainVectors) {
    for (unsigned seed = 0; seed < 20; ++seed) {
        const std::vector<float> features = random_numbers(100 * 6, seed);
        const std::vector<float> attention = random_attention(100, seed + 10);
        const HolovReference expected = holov_reference(as_rows(features, 6), attention, 23, 7);
        std::vector<TokenIndex> kept;
        for (std::size_t c = 0; c < 7; ++c) {
            const std::size_t begin = expected.begins[c];
            const std::vector<float> part(
                attention.begin() + static_cast<std::ptrdiff_t>(begin),
                attention.begin() + static_cast<std::ptrdiff_t>(begin + expected.sizes[c]));
            ASSERT_LE(expected.quotas[c], expected.sizes[c]);  // no chunk overflows here
            const std::vector<TokenIndex> order = by_score(part);
            for (std::size_t k = 0; k < expected.quotas[c]; ++k) {
                kept.push_back(order[k] + static_cast<TokenIndex>(begin));
            }
        }
        const Cosines gram = cosines(features, 6);
        const auto by_attention = holov(attention, gram.view(), 23, {.chunks = 7, .sorts = false});
        ASSERT_TRUE(by_attention.ok());
        EXPECT_EQ(by_attention->kept, kept);
        std::sort(kept.begin(), kept.end());
        EXPECT_EQ(holov(attention, gram.view(), 23, {.chunks = 7})->kept, kept);
    }
}

// All attention in the first of four chunks of five.
std::vector<float> lopsided() {
    std::vector<float> attention(20, 0.0F);
    for (std::size_t i = 0; i < 5; ++i) attention[i] = 0.1F + 0.01F * static_cast<float>(i);
    return attention;
}

TEST(Holov, PlacesOfAFullChunkGoRoundTheOthers) {
    const std::vector<float> features = random_numbers(20 * 4, 1);
    const auto plan =
        holov(lopsided(), cosines(features, 4).view(), 9, {.chunks = 4, .variance_weight = 0.0});
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(plan->kept, (std::vector<TokenIndex>{0, 1, 2, 3, 4, 5, 6, 10, 15}));
}

TEST(Holov, OrAreFilledWithZeroVectors) {
    const std::vector<float> features = random_numbers(20 * 4, 1);
    const auto plan = holov(lopsided(), cosines(features, 4).view(), 9,
                            {.chunks = 4, .variance_weight = 0.0, .pads_with_zeros = true, .sorts = false});
    ASSERT_TRUE(plan.ok());
    ASSERT_EQ(plan->size(), 9U);
    const Rows tokens = applied(*plan, as_rows(features, 4));
    std::size_t n_zeros = 0;
    for (const Row& token : tokens) n_zeros += dot(token, token) == 0.0 ? 1U : 0U;
    // Eight places by score and the ninth by rounding all go to the first chunk, which has five tokens.
    EXPECT_EQ(n_zeros, 4U);
}

TEST(Holov, RefusesBadOptions) {
    const std::vector<float> features = random_numbers(20 * 4, 1);
    const Cosines gram = cosines(features, 4);
    EXPECT_FALSE(holov(lopsided(), gram.view(), 9, {.chunks = 0}).ok());
    EXPECT_FALSE(holov(lopsided(), gram.view(), 9, {.variance_weight = -1.0}).ok());
}

}  // namespace
}  // namespace clasp::methods
