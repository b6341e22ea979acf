#include "methods/prumerge.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "token_case.h"

namespace clasp::methods {
namespace {

using namespace testing;

// What the kept patches and the extra token become, straight from the description.
Rows reference(const Rows& features, const Rows& keys, const std::vector<float>& attention,
               const std::vector<TokenIndex>& kept, std::size_t n_neighbours) {
    Rows out;
    for (const TokenIndex token : kept) {
        std::vector<TokenIndex> others;
        for (TokenIndex j = 0; j < features.size(); ++j) {
            if (j != token) others.push_back(j);
        }
        std::stable_sort(others.begin(), others.end(), [&](TokenIndex a, TokenIndex b) {
            return cosine(keys[token], keys[a]) > cosine(keys[token], keys[b]);
        });
        Row row = features[token];
        for (std::size_t k = 0; k < n_neighbours; ++k) {
            add(row, static_cast<double>(attention[others[k]]), features[others[k]]);
        }
        out.push_back(row);
    }
    Row rest(features[0].size(), 0.0);
    for (TokenIndex j = 0; j < features.size(); ++j) {
        if (std::find(kept.begin(), kept.end(), j) == kept.end()) {
            add(rest, static_cast<double>(attention[j]), features[j]);
        }
    }
    out.push_back(rest);
    return out;
}

TEST(Prumerge, CountsOutliersByQuartiles) {
    EXPECT_EQ(count_outliers(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 100}), 1U);  // threshold 11.5
    EXPECT_EQ(count_outliers(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 11.5F}), 0U);
    EXPECT_EQ(count_outliers(std::vector<float>(9, 2.0F)), 0U);
}

TEST(Prumerge, AgreesWithTheDescriptionOnPlainVectors) {
    for (unsigned seed = 0; seed < 10; ++seed) {
        const std::vector<float> features = random_numbers(70 * 6, seed);
        const std::vector<float> keys = random_numbers(70 * 9, seed + 50);
        const std::vector<float> attention = random_attention(70, seed + 90);
        const Cosines key_cosines = cosines(keys, 9);
        const auto plan = prumerge(attention, key_cosines.view(), 12, {});
        ASSERT_TRUE(plan.ok());
        std::vector<TokenIndex> kept = by_score(attention);
        kept.resize(11);
        EXPECT_TRUE(std::equal(kept.begin(), kept.end(), plan->kept.begin()));
        expect_near(applied(*plan, as_rows(features, 6)),
                    reference(as_rows(features, 6), as_rows(keys, 9), attention, kept, 32));
    }
}

TEST(Prumerge, PlusAddsEvenlySpacedPatches) {
    const std::vector<float> keys = random_numbers(60 * 3, 1);
    std::vector<float> attention(60, 0.001F);
    for (const std::size_t token : {50U, 51U, 52U}) attention[token] = 0.2F;
    const auto plan = prumerge(attention, cosines(keys, 3).view(), 13, {.is_plus = true});
    ASSERT_TRUE(plan.ok());
    // 3 of 12 by attention; 9 in the middles of ninths of the other 57, the extra at the first dropped one.
    EXPECT_EQ(plan->kept, (std::vector<TokenIndex>{50, 51, 52, 3, 9, 15, 22, 28, 34, 41, 47, 56, 0}));
}

TEST(Prumerge, AdaptiveKeepsOutliersAndPlusASparseRaster) {
    const std::vector<float> keys = random_numbers(60 * 3, 2);
    std::vector<float> attention(60, 0.01F);
    attention[7] = 0.1F;
    attention[30] = 0.3F;
    const Cosines key_cosines = cosines(keys, 3);
    const auto plain = prumerge_adaptive(attention, key_cosines.view(), {});
    ASSERT_TRUE(plain.ok());
    EXPECT_EQ(plain->kept, (std::vector<TokenIndex>{30, 7, 0}));
    // step = (60 / 2) / 3 = 10, and 30 is kept already
    const auto plus = prumerge_adaptive(attention, key_cosines.view(), {.is_plus = true});
    EXPECT_EQ(plus->kept, (std::vector<TokenIndex>{30, 7, 0, 10, 20, 40, 50, 1}));
}

TEST(Prumerge, AdaptiveKeepsOneWhenNothingStandsOut) {
    const std::vector<float> keys = random_numbers(12 * 3, 3);
    const std::vector<float> attention(12, 0.05F);
    const auto plan = prumerge_adaptive(attention, cosines(keys, 3).view(), {});
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(plan->kept, (std::vector<TokenIndex>{0, 1}));
    EXPECT_EQ(plan->sources(0).size(), 12U);  // fewer neighbours than 32
    const auto plus = prumerge_adaptive(attention, cosines(keys, 3).view(), {.is_plus = true});
    EXPECT_EQ(plus->kept, (std::vector<TokenIndex>{0, 4, 8, 1}));
}

TEST(Prumerge, SortsOnRequest) {
    const std::vector<float> keys = random_numbers(40 * 3, 4);
    const auto plan =
        prumerge(random_attention(40, 5), cosines(keys, 3).view(), 9, {.is_plus = true, .sorts = true});
    EXPECT_TRUE(std::is_sorted(plan->kept.begin(), plan->kept.end() - 1));  // then the sum of the rest
}

}  // namespace
}  // namespace clasp::methods
