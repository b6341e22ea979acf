#include "methods/cdpruner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "token_case.h"

namespace clasp::methods {
namespace {

using namespace testing;

double determinant(Rows matrix) {
    double result = 1;
    for (std::size_t k = 0; k < matrix.size(); ++k) {
        std::size_t pivot = k;
        for (std::size_t i = k + 1; i < matrix.size(); ++i) {
            if (std::abs(matrix[i][k]) > std::abs(matrix[pivot][k])) pivot = i;
        }
        if (matrix[pivot][k] == 0.0) return 0.0;
        if (pivot != k) {
            std::swap(matrix[pivot], matrix[k]);
            result = -result;
        }
        result *= matrix[k][k];
        for (std::size_t i = k + 1; i < matrix.size(); ++i)
            add(matrix[i], -matrix[i][k] / matrix[k][k], matrix[k]);
    }
    return result;
}

// The greedy choice by its definition: the token with which the determinant of the chosen kernel is largest.
std::vector<TokenIndex> reference(const Rows& features, const Row& relevance, std::size_t keep) {
    std::vector<TokenIndex> chosen;
    while (chosen.size() < keep) {
        TokenIndex best = 0;
        double best_determinant = -1;
        for (TokenIndex candidate = 0; candidate < features.size(); ++candidate) {
            if (std::find(chosen.begin(), chosen.end(), candidate) != chosen.end()) continue;
            std::vector<TokenIndex> set = chosen;
            set.push_back(candidate);
            Rows kernel;
            for (const TokenIndex i : set) {
                kernel.emplace_back();
                for (const TokenIndex j : set) {
                    kernel.back().push_back(relevance[i] * relevance[j] * cosine(features[i], features[j]));
                }
            }
            const double value = determinant(kernel);
            if (value > best_determinant) {
                best_determinant = value;
                best = candidate;
            }
        }
        chosen.push_back(best);
    }
    std::sort(chosen.begin(), chosen.end());
    return chosen;
}

// As the kernel scales it.
Row scaled(const std::vector<float>& relevance) {
    const auto [low, high] = std::minmax_element(relevance.begin(), relevance.end());
    Row result;
    for (const float value : relevance) {
        result.push_back((static_cast<double>(value) - static_cast<double>(*low) + 1e-6) /
                         (static_cast<double>(*high) - static_cast<double>(*low)));
    }
    return result;
}

TEST(Cdpruner, PicksTheWorkedExample) {
    // Relevance 1, 0.9 and 0.5 after scaling: the second token is nearly the first one's copy.
    const std::vector<double> angles = {0, 10, 90, 45};
    const std::vector<float> relevance = {1.0F, 0.9F, 0.5F, 0.0F};
    const auto plan = cdpruner(cosines(at_degrees(angles), 2).view(), relevance, 2, {});
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(plan->kept, (std::vector<TokenIndex>{0, 2}));
}

TEST(Cdpruner, AgreesWithDeterminants) {
    for (unsigned seed = 0; seed < 20; ++seed) {
        const std::vector<float> features = random_numbers(30 * 16, seed);
        const std::vector<float> relevance = random_numbers(30, seed + 40);
        const Cosines gram = cosines(features, 16);
        const auto plan = cdpruner(gram.view(), relevance, 10, {});
        ASSERT_TRUE(plan.ok());
        EXPECT_EQ(plan->kept, reference(as_rows(features, 16), scaled(relevance), 10));
        const auto weighted = cdpruner(gram.view(), relevance, 10, {.relevance_weight = 0.5});
        Row sharpened = scaled(relevance);
        for (double& value : sharpened) value = std::exp(0.5 * value);
        EXPECT_EQ(weighted->kept, reference(as_rows(features, 16), sharpened, 10));
    }
}

TEST(Cdpruner, WithoutAnythingNewTheMostRelevantFollow) {
    // Features span two dimensions only.
    const std::vector<float> features = random_numbers(20 * 2, 3);
    const std::vector<float> relevance = random_numbers(20, 4);
    const auto plan = cdpruner(cosines(features, 2).view(), relevance, 6, {});
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(plan->size(), 6U);
    const std::vector<TokenIndex> order = by_score(relevance);
    for (std::size_t k = 0; k < 4; ++k) {
        EXPECT_TRUE(std::binary_search(plan->kept.begin(), plan->kept.end(), order[k]));
    }
}

TEST(Cdpruner, EqualRelevanceMeansDiversityAlone) {
    const std::vector<float> features = random_numbers(25 * 12, 5);
    const auto plan = cdpruner(cosines(features, 12).view(), std::vector<float>(25, 0.3F), 8, {});
    EXPECT_EQ(plan->kept, reference(as_rows(features, 12), Row(25, 1.0), 8));
}

TEST(Cdpruner, RelevanceIsTheMeanCosineWithItsSign) {
    const std::vector<float> tokens = random_numbers(9 * 5, 6);
    const std::vector<float> text = random_numbers(3 * 5, 7);
    const auto relevance = cdpruner_relevance({tokens.data(), 9, 5, 5}, {text.data(), 3, 5, 5}, -1.0F);
    ASSERT_TRUE(relevance.ok());
    for (std::size_t i = 0; i < 9; ++i) {
        double mean = 0;
        for (const Row& word : as_rows(text, 5)) mean += cosine(as_rows(tokens, 5)[i], word) / 3.0;
        EXPECT_NEAR((*relevance)[i], -mean, 1e-6);
    }
}

TEST(Cdpruner, RefusesBadText) {
    const std::vector<float> tokens = random_numbers(12, 1);
    std::vector<float> text = random_numbers(12, 2);
    EXPECT_EQ(cdpruner_relevance({tokens.data(), 4, 3, 3}, {text.data(), 3, 4, 4}, 1.0F).status().message(),
              "visual tokens of width 3 cannot be compared with text of width 4");
    EXPECT_FALSE(cdpruner_relevance({tokens.data(), 4, 3, 3}, {text.data(), 0, 3, 3}, 1.0F).ok());
    text[7] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(cdpruner_relevance({tokens.data(), 4, 3, 3}, {text.data(), 4, 3, 3}, 1.0F).status().message(),
              "the features of text token 2 hold NaN or infinity");
    const Cosines gram = cosines(tokens, 3);
    EXPECT_FALSE(cdpruner(gram.view(), std::vector<float>(4, 1.0F), 2, {.relevance_weight = 1.0}).ok());
}

}  // namespace
}  // namespace clasp::methods
