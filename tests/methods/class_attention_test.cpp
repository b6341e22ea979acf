// FasterVLM and HiRED: the methods that look at class attention alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "methods/fastervlm.h"
#include "methods/hired.h"
#include "token_case.h"

namespace clasp::methods {
namespace {

using testing::random_attention;

TEST(Fastervlm, KeepsTheMostAttendedInRasterOrder) {
    const std::vector<float> attention = {0.1F, 0.4F, 0.1F, 0.3F, 0.1F};
    const auto plan = fastervlm(attention, 3);
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(plan->kept, (std::vector<TokenIndex>{0, 1, 3}));
}

// The base view of 24 x 24 patches, all its marked half in the patches given.
std::vector<float> marked_patches(const std::vector<TokenIndex>& patches) {
    std::vector<float> attention(576, 0.0F);
    for (const TokenIndex patch : patches) attention[patch] = 1.0F;
    return attention;
}

constexpr HiredTiles kTwoByTwo = {24, 24, 2, 2};

std::vector<std::size_t> tiles_of(const std::vector<float>& attention, std::size_t budget, HiredRegion region,
                                  bool gives_remainder) {
    const auto budgets = hired_budgets(attention, kTwoByTwo, budget, {0.5, region, gives_remainder});
    EXPECT_TRUE(budgets.ok()) << budgets.status().message();
    return budgets->tiles;
}

TEST(Hired, RegionsAreQuadrantsOrStrips) {
    // The upper half: all of two quadrants and all of two strips.
    std::vector<TokenIndex> upper(288);
    std::iota(upper.begin(), upper.end(), 0U);
    EXPECT_EQ(tiles_of(marked_patches(upper), 640, HiredRegion::Quadrant, false),
              (std::vector<std::size_t>{160, 160, 0, 0}));
    EXPECT_EQ(tiles_of(marked_patches(upper), 640, HiredRegion::Strip, false),
              (std::vector<std::size_t>{160, 160, 0, 0}));
    // The left half.
    std::vector<TokenIndex> left;
    for (TokenIndex patch = 0; patch < 576; ++patch) {
        if (patch % 24 < 12) left.push_back(patch);
    }
    EXPECT_EQ(tiles_of(marked_patches(left), 640, HiredRegion::Quadrant, false),
              (std::vector<std::size_t>{160, 0, 160, 0}));
    EXPECT_EQ(tiles_of(marked_patches(left), 640, HiredRegion::Strip, false),
              (std::vector<std::size_t>{80, 80, 80, 80}));
}

TEST(Hired, RoundingLosesTokensOrGivesThemBack) {
    const std::vector<float> attention = random_attention(576, 3);
    for (const std::size_t budget : {160U, 321U, 640U, 1603U}) {
        for (const HiredRegion region : {HiredRegion::Quadrant, HiredRegion::Strip}) {
            const auto code = tiles_of(attention, budget, region, false);
            const auto exact = tiles_of(attention, budget, region, true);
            const std::size_t for_tiles = budget - std::min<std::size_t>(budget / 2, 576);
            EXPECT_LE(std::accumulate(code.begin(), code.end(), std::size_t{0}), for_tiles);
            EXPECT_GE(std::accumulate(code.begin(), code.end(), std::size_t{0}) + 3, for_tiles);
            EXPECT_EQ(std::accumulate(exact.begin(), exact.end(), std::size_t{0}), for_tiles);
        }
    }
}

TEST(Hired, TheBaseViewTakesItsShareAndNoMoreThanItHas) {
    const std::vector<float> attention = random_attention(576, 4);
    EXPECT_EQ(hired_budgets(attention, kTwoByTwo, 320, {})->base, 160U);
    EXPECT_EQ(hired_budgets(attention, kTwoByTwo, 2000, {})->base, 576U);
    const auto all = hired_budgets(attention, kTwoByTwo, 5000, {});
    EXPECT_EQ(all->tiles, (std::vector<std::size_t>{576, 576, 576, 576}));
}

TEST(Hired, RefusesTilesThatDoNotFit) {
    const std::vector<float> attention = random_attention(20, 5);
    EXPECT_EQ(hired_budgets(attention, {4, 5, 2, 2}, 10, {}).status().message(),
              "4 x 5 patches cannot be cut evenly into 2 x 2 tiles");
    EXPECT_TRUE(hired_budgets(attention, {4, 5, 2, 2}, 10, {0.5, HiredRegion::Strip, true}).ok());
    EXPECT_FALSE(hired_budgets(attention, {4, 5, 2, 5}, 10, {1.5}).ok());
    EXPECT_FALSE(hired_budgets(attention, {4, 4, 2, 2}, 10, {}).ok());
}

}  // namespace
}  // namespace clasp::methods
