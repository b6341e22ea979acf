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

// An overview of 24 x 24 patches, all its marked half in the patches given.
std::vector<float> marked_patches(const std::vector<TokenIndex>& patches) {
    std::vector<float> attention(576, 0.0F);
    for (const TokenIndex patch : patches) attention[patch] = 1.0F;
    return attention;
}

constexpr Grid kOverview = {24, 24};
constexpr Grid kTwoByTwo = {2, 2};
const std::vector<std::size_t> kFullTiles(4, 576);

HiredBudgets budgets_of(const std::vector<float>& attention, std::size_t budget,
                        const HiredOptions& options = {},
                        const std::vector<std::size_t>& rooms = kFullTiles) {
    const auto budgets = hired_budgets(attention, kOverview, kTwoByTwo, rooms, budget, options);
    EXPECT_TRUE(budgets.ok()) << budgets.status().message();
    return budgets.ok() ? *budgets : HiredBudgets();
}

std::vector<std::size_t> tiles_of(const std::vector<float>& attention, std::size_t budget, HiredRegion region,
                                  bool gives_remainder) {
    return budgets_of(attention, budget, {0.5, region, gives_remainder}).tiles;
}

TEST(Hired, RegionsArePlacesOrStrips) {
    // The upper half: all of two quarters and all of two strips.
    std::vector<TokenIndex> upper(288);
    std::iota(upper.begin(), upper.end(), 0U);
    EXPECT_EQ(tiles_of(marked_patches(upper), 640, HiredRegion::Place, false),
              (std::vector<std::size_t>{160, 160, 0, 0}));
    EXPECT_EQ(tiles_of(marked_patches(upper), 640, HiredRegion::Strip, false),
              (std::vector<std::size_t>{160, 160, 0, 0}));
    // The left half.
    std::vector<TokenIndex> left;
    for (TokenIndex patch = 0; patch < 576; ++patch) {
        if (patch % 24 < 12) left.push_back(patch);
    }
    EXPECT_EQ(tiles_of(marked_patches(left), 640, HiredRegion::Place, false),
              (std::vector<std::size_t>{160, 0, 160, 0}));
    EXPECT_EQ(tiles_of(marked_patches(left), 640, HiredRegion::Strip, false),
              (std::vector<std::size_t>{80, 80, 80, 80}));
}

// 4 x 5 patches over 1 x 2 tiles: the middle column goes with the left tile, whose place it begins in.
TEST(Hired, AnUnevenGridHasRegionsToo) {
    const auto budgets = hired_budgets(std::vector<float>(20, 0.05F), {4, 5}, {1, 2},
                                       std::vector<std::size_t>{20, 20}, 20, {0.0});
    ASSERT_TRUE(budgets.ok()) << budgets.status().message();
    EXPECT_EQ(budgets->base, 0U);
    EXPECT_EQ(budgets->tiles, (std::vector<std::size_t>{12, 8}));
}

TEST(Hired, RoundingLosesTokensOrGivesThemBack) {
    const std::vector<float> attention = random_attention(576, 3);
    for (const std::size_t budget : {160U, 321U, 640U, 1603U}) {
        for (const HiredRegion region : {HiredRegion::Place, HiredRegion::Strip}) {
            const auto code = tiles_of(attention, budget, region, false);
            const auto exact = tiles_of(attention, budget, region, true);
            const std::size_t for_tiles = budget - std::min<std::size_t>(budget / 2, 576);
            EXPECT_LE(std::accumulate(code.begin(), code.end(), std::size_t{0}), for_tiles);
            EXPECT_GE(std::accumulate(code.begin(), code.end(), std::size_t{0}) + 3, for_tiles);
            EXPECT_EQ(std::accumulate(exact.begin(), exact.end(), std::size_t{0}), for_tiles);
        }
    }
}

TEST(Hired, TheOverviewTakesItsShareAndNoMoreThanItHas) {
    const std::vector<float> attention = random_attention(576, 4);
    EXPECT_EQ(budgets_of(attention, 320).base, 160U);
    EXPECT_EQ(budgets_of(attention, 2000).base, 576U);
    EXPECT_EQ(budgets_of(attention, 5 * 576).tiles, kFullTiles);
    // All of it, and what it has no room for goes to the tiles, without a mark in any of them.
    const HiredBudgets all = budgets_of(attention, 600, {1.0});
    EXPECT_EQ(all.base, 576U);
    EXPECT_EQ(all.tiles, (std::vector<std::size_t>{6, 6, 6, 6}));
}

// Tiles that are partly padding have fewer patches to keep; the others, then the overview take the rest.
TEST(Hired, WhatATileHasNoRoomForGoesElsewhere) {
    std::vector<TokenIndex> first(144);
    for (TokenIndex i = 0; i < 144; ++i) first[i] = i / 12 * 24 + i % 12;
    const std::vector<float> attention = marked_patches(first);
    const std::vector<std::size_t> rooms = {40, 50, 0, 60};
    const HiredBudgets some = budgets_of(attention, 200, {0.5}, rooms);
    EXPECT_EQ(some.base, 100U);
    EXPECT_EQ(some.tiles[0], 40U);
    EXPECT_EQ(some.tiles[2], 0U);
    EXPECT_EQ(some.tiles[1] + some.tiles[3], 60U);
    const HiredBudgets most = budgets_of(attention, 600, {0.5}, rooms);
    EXPECT_EQ(most.base, 450U);
    EXPECT_EQ(most.tiles, rooms);
}

TEST(Hired, RefusesWhatCannotBe) {
    const std::vector<float> attention = random_attention(20, 5);
    const std::vector<std::size_t> rooms = {20, 20};
    const auto refusal = [&](const Grid& overview, std::span<const std::size_t> room, std::size_t budget,
                             double share) {
        return hired_budgets(attention, overview, {1, 2}, room, budget, {share}).status().message();
    };
    EXPECT_EQ(refusal({4, 5}, rooms, 10, 1.5), "the overview's share 1.500000 is outside [0, 1]");
    EXPECT_EQ(refusal({4, 5}, {}, 10, 0.5), "there are 2 tiles, but 0 counts of their patches");
    EXPECT_EQ(refusal({4, 5}, rooms, 61, 0.5), "the budget 61 exceeds the 60 patches");
    EXPECT_NE(refusal({4, 4}, rooms, 10, 0.5), "");
    EXPECT_EQ(refusal({4, 5}, rooms, 60, 0.5), "");
}

// A tile, the overview, another tile; each row knows whose it is.
TEST(Hired, EveryPartKeepsItsMostAttended) {
    const std::vector<std::size_t> parts = {0, 0, 0, 0, TileParts::kOverview, TileParts::kOverview,
                                            1, 1, 1, 1};
    const std::vector<float> attention = {0.1F, 0.4F, 0.2F, 0.3F, 0.9F, 0.8F, 0.01F, 0.04F, 0.03F, 0.02F};
    std::vector<float> first_block(10, 0.0F);
    first_block[5] = 1.0F;  // the right half of the overview
    const auto plan = hired(attention, first_block, {{1, 2}, {1, 2}, parts}, 4, {0.5});
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ(plan->kept, (std::vector<TokenIndex>{4, 5, 7, 8}));
    EXPECT_FALSE(hired(attention, std::vector<float>(9), {{1, 2}, {1, 2}, parts}, 4, {}).ok());
    EXPECT_EQ(hired(attention, first_block, {{1, 2}, {1, 2}, parts}, 10, {})->kept.size(), 10U);
}

}  // namespace
}  // namespace clasp::methods
