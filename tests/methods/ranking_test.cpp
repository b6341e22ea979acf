#include "methods/ranking.h"

#include <gtest/gtest.h>

namespace clasp::methods {
namespace {

TEST(Ranking, TiesGoToTheSmallerIndex) {
    const std::vector<float> scores = {1, 3, 3, 0, 3};
    EXPECT_EQ(ranked(scores), (std::vector<TokenIndex>{1, 2, 4, 0, 3}));
    EXPECT_EQ(highest(scores, 2), (std::vector<TokenIndex>{1, 2}));
    EXPECT_EQ(others(5, std::vector<TokenIndex>{1, 4}), (std::vector<TokenIndex>{0, 2, 3}));
}

TEST(Ranking, KeepsTokensSortedWithTheirReasons) {
    const Plan plan = keep_tokens(std::vector<TokenIndex>{7, 1}, std::vector<TokenIndex>{9, 4});
    EXPECT_EQ(plan.kept, (std::vector<TokenIndex>{1, 4, 7, 9}));
    EXPECT_EQ(plan.reasons,
              (std::vector<Reason>{Reason::Pivot, Reason::Coverage, Reason::Pivot, Reason::Coverage}));
    EXPECT_EQ(keep_all_tokens(3).kept, (std::vector<TokenIndex>{0, 1, 2}));
}

TEST(Ranking, QuantilesLieBetweenNeighbours) {
    const std::vector<float> values = {4, 1, 3, 2};
    EXPECT_DOUBLE_EQ(quantile(values, 0.0), 1.0);
    EXPECT_DOUBLE_EQ(quantile(values, 0.5), 2.5);
    EXPECT_DOUBLE_EQ(quantile(values, 1.0), 4.0);
    EXPECT_DOUBLE_EQ(quantile(std::vector<float>{7}, 0.3), 7.0);
}

}  // namespace
}  // namespace clasp::methods
