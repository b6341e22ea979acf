#include "clasp/select.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace clasp {
namespace {

using testing::ElementsAre;

TEST(Select, KeepsTheHighestScoreAndTheTokenLeastLikeIt) {
    // Tokens 0 and 1 point the same way, 2 nearly, 3 across.
    const std::vector<float> features = {1, 0, 1, 0, 1, 0.1F, 0, 1};
    const std::vector<float> scores = {0.1F, 0.9F, 0.2F, 0.3F};
    SelectInput input;
    input.features = {features.data(), 4, 2, 2};
    input.scores = scores;
    SelectWorkspace workspace;
    SelectPlan plan;
    ASSERT_TRUE(select(input, {.budget = 2, .split = 0.5}, workspace, nullptr, plan).ok());
    EXPECT_THAT(plan.pivots, ElementsAre(1));
    EXPECT_EQ(plan.kept.size(), 2U);
    EXPECT_THAT(plan.seeds, ElementsAre(3));
}

}  // namespace
}  // namespace clasp
