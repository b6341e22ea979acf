#include "methods/budget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace clasp::methods {
namespace {

std::vector<std::size_t> solve(std::vector<StageShape> shapes, double tokens) {
    return solve_stage_counts(576, 32, shapes, {tokens, BudgetKind::Average}, "m").value();
}

TEST(StageCounts, AreThoseOfTheSpecification) {
    EXPECT_EQ(solve({{2, 1}}, 192), std::vector<std::size_t>{166});
    EXPECT_EQ(solve({{2, 1}}, 128), std::vector<std::size_t>{98});
    EXPECT_EQ(solve({{2, 1}}, 64), std::vector<std::size_t>{30});
    EXPECT_EQ(solve({{3, 1}}, 192), std::vector<std::size_t>{152});
    EXPECT_EQ(solve({{3, 1}}, 64), std::vector<std::size_t>{11});
    EXPECT_EQ(solve({{2, 4}, {10, 2}, {20, 1}}, 192), (std::vector<std::size_t>{312, 156, 78}));
    EXPECT_EQ(solve({{2, 4}, {10, 2}, {20, 1}}, 128), (std::vector<std::size_t>{184, 92, 46}));
    EXPECT_EQ(solve({{3, 288}, {6, 144}, {14, 48}, {22, 0}}, 128),
              (std::vector<std::size_t>{284, 142, 47, 0}));
    EXPECT_EQ(solve({{3, 288}, {6, 144}, {14, 48}, {22, 0}}, 192),
              (std::vector<std::size_t>{530, 265, 88, 0}));
}

TEST(StageCounts, MeetAnAverageWithinATokenAndNeverRise) {
    std::mt19937 engine(3);
    const auto below = [&engine](unsigned limit) { return static_cast<double>(engine() % limit); };
    for (int round = 0; round < 500; ++round) {
        std::vector<StageShape> shapes;
        std::size_t layer = 1 + engine() % 4;
        double proportion = 1.0 + below(100);
        for (std::size_t i = 0; i < 1 + engine() % 4; ++i) {
            shapes.push_back({layer, proportion});
            layer += 1 + engine() % 5;
            proportion *= 0.2 + 0.008 * below(100);
        }
        const double tokens = 100.0 + below(400);
        const auto counts = solve_stage_counts(576, 32, shapes, {tokens, BudgetKind::Average}, "m");
        ASSERT_TRUE(counts.ok());
        EXPECT_NEAR(layer_average(576, 32, shapes, *counts), tokens, 1.0);
        EXPECT_TRUE(std::is_sorted(counts->rbegin(), counts->rend()));
    }
}

TEST(StageCounts, ReadAFinalBudgetFromTheLastStage) {
    const std::vector<StageShape> shapes = {{2, 4}, {10, 2}, {20, 1}};
    EXPECT_EQ(solve_stage_counts(576, 32, shapes, {100, BudgetKind::Final}, "m").value(),
              (std::vector<std::size_t>{400, 200, 100}));
    EXPECT_EQ(solve_stage_counts(576, 32, shapes, {200, BudgetKind::Final}, "m").value(),
              (std::vector<std::size_t>{576, 400, 200}));
}

TEST(StageCounts, RefuseWhatCannotBe) {
    const std::vector<StageShape> pyramid = {{8, 4}, {16, 2}, {24, 1}};
    EXPECT_EQ(solve_stage_counts(576, 32, pyramid, {128, BudgetKind::Average}, "pdrop").status().message(),
              "method 'pdrop' cannot reach an average of 128 visual tokens per layer: its first 8 of 32 "
              "layers process all 576, so the smallest possible is 144.75");
    EXPECT_EQ(solve_stage_counts(576, 32, pyramid, {200, BudgetKind::Entering}, "pdrop").status().message(),
              "method 'pdrop' drops tokens inside the decoder, so all 576 visual tokens enter it; give the "
              "budget as average or final");
    const std::vector<StageShape> withdrawal = {{10, 0}};
    EXPECT_FALSE(solve_stage_counts(576, 32, withdrawal, {10, BudgetKind::Final}, "vtw").ok());
    const std::vector<StageShape> deep = {{40, 1}};
    EXPECT_FALSE(solve_stage_counts(576, 32, deep, {400, BudgetKind::Average}, "m").ok());
}

TEST(ScaledLayer, KeepsTheRelativeDepth) {
    EXPECT_EQ(scaled_layer(15, 32), 15U);
    EXPECT_EQ(scaled_layer(15, 16), 8U);
    EXPECT_EQ(scaled_layer(2, 8), 1U);
    EXPECT_EQ(scaled_layer(31, 4), 3U);
}

}  // namespace
}  // namespace clasp::methods
