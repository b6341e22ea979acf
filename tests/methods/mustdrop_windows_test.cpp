#include "methods/mustdrop_windows.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "token_case.h"

namespace clasp::methods {
namespace {

using namespace testing;

// Noise but for windows whose nine patches are one direction with a little noise each.
std::vector<float> with_flat_windows(std::size_t side, const std::vector<std::size_t>& windows) {
    std::vector<float> features = random_numbers(side * side * 16, 5);
    for (std::size_t k = 0; k < windows.size(); ++k) {
        const std::vector<float> direction = random_numbers(16, 100 + static_cast<unsigned>(k));
        for (std::size_t i = 0; i < 9; ++i) {
            const std::size_t row = windows[k] / (side / 3) * 3 + i / 3;
            const std::size_t column = windows[k] % (side / 3) * 3 + i % 3;
            float* patch = features.data() + (row * side + column) * 16;
            // Later windows are noisier, so that the given order is that of falling similarity.
            const float noise = 0.05F * static_cast<float>(k + 1);
            for (std::size_t c = 0; c < 16; ++c) patch[c] = direction[c] + noise * patch[c];
        }
    }
    return features;
}

TEST(Mustdrop, MergesAlikeWindowsIntoMeansMostSimilarFirst) {
    const std::vector<float> features = with_flat_windows(12, {6, 1, 15});
    const auto plan = mustdrop_merge(cosines(features, 16).view(), 12, 12, {});
    ASSERT_TRUE(plan.ok());
    ASSERT_EQ(plan->size(), 144U - 24U);
    // Window 6 of 4 x 4: rows 3 to 5, columns 6 to 8; its last patch is row 5, column 8.
    EXPECT_EQ(plan->kept[0], 5U * 12 + 8);
    EXPECT_EQ(plan->kept[1], 2U * 12 + 5);
    EXPECT_EQ(plan->kept[2], 11U * 12 + 11);
    EXPECT_TRUE(std::is_sorted(plan->kept.begin() + 3, plan->kept.end()));
    Row mean(16, 0.0);
    for (const std::size_t patch : {42U, 43U, 44U, 54U, 55U, 56U, 66U, 67U, 68U}) {
        add(mean, 1.0 / 9.0, as_rows(features, 16)[patch]);
    }
    const Rows first = {applied(*plan, as_rows(features, 16))[0]};
    expect_near(first, {mean});
}

TEST(Mustdrop, NothingOrEverythingMayMerge) {
    const std::vector<float> noise = random_numbers(144 * 16, 7);
    const auto none = mustdrop_merge(cosines(noise, 16).view(), 12, 12, {});
    EXPECT_FALSE(none->merges());
    EXPECT_EQ(none->size(), 144U);
    std::vector<float> same;
    for (std::size_t i = 0; i < 576; ++i) same.insert(same.end(), {1.0F, 2.0F});
    const auto all = mustdrop_merge(cosines(same, 2).view(), 24, 24, {});
    EXPECT_EQ(all->size(), 64U);
}

TEST(Mustdrop, MergesAGivenNumberOfWindows) {
    const std::vector<float> features = with_flat_windows(12, {6, 1, 15});
    const Cosines gram = cosines(features, 16);
    EXPECT_EQ(mustdrop_merge(gram.view(), 12, 12, {.count = 2})->size(), 144U - 16U);
    EXPECT_EQ(mustdrop_merge(gram.view(), 12, 12, {.count = 16})->size(), 16U);
    EXPECT_FALSE(mustdrop_merge(gram.view(), 12, 12, {.count = 17}).ok());
}

TEST(Mustdrop, RefusesGridsThatDoNotDivide) {
    const std::vector<float> features = random_numbers(40 * 4, 1);
    EXPECT_EQ(mustdrop_merge(cosines(features, 4).view(), 5, 8, {}).status().message(),
              "a grid of 5 x 8 does not divide into windows of side 3");
}

TEST(Mustdrop, KeyTokensAreTheMostAttendedShare) {
    EXPECT_EQ(mustdrop_key_tokens(random_attention(576, 1))->size(), 47U);
    EXPECT_EQ(mustdrop_key_tokens(random_attention(64, 1))->size(), 6U);
    EXPECT_EQ(*mustdrop_key_tokens(std::vector<float>{0.1F, 0.5F, 0.2F, 0.4F}, 0.5),
              (std::vector<TokenIndex>{1, 3}));
}

}  // namespace
}  // namespace clasp::methods
