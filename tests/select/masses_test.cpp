#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <vector>

#include "clasp/select.h"
#include "select/cases.h"

namespace clasp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Tokens 0 and 1 are alike, 2 and 3 are alike, 4 is between 1 and 3 but nearer to 3.
const std::vector<float> kGram = {
    1,    0.9F, 0.0F, 0.0F, 0.1F,  //
    0.9F, 1,    0.0F, 0.0F, 0.4F,  //
    0.0F, 0.0F, 1,    0.8F, 0.1F,  //
    0.0F, 0.0F, 0.8F, 1,    0.5F,  //
    0.1F, 0.4F, 0.1F, 0.5F, 1,
};
const GramView kView = {kGram.data(), 5, 5};

TEST(Masses, EachDroppedTokenGoesToTheMostSimilarKeptOne) {
    std::vector<float> masses(5, 1.0F);
    const std::vector<TokenIndex> kept = {1, 3};
    ASSERT_TRUE(assign_masses(kView, {}, kept, masses).ok());
    EXPECT_THAT(masses, ElementsAre(0, 2, 0, 3, 0));
}

TEST(Masses, TheyAreHandedOnFromStageToStage) {
    std::vector<float> masses(5, 1.0F);
    const std::vector<TokenIndex> first = {1, 3, 4};
    const std::vector<TokenIndex> second = {3};
    ASSERT_TRUE(assign_masses(kView, {}, first, masses).ok());
    EXPECT_THAT(masses, ElementsAre(0, 2, 0, 2, 1));
    ASSERT_TRUE(assign_masses(kView, first, second, masses).ok());
    EXPECT_THAT(masses, ElementsAre(0, 0, 0, 5, 0));
}

TEST(Masses, TiesGoToTheSmallerIndexAndKeptTokensKeepTheirOwn) {
    const std::vector<float> flat(9, 0.5F);
    std::vector<float> masses = {1, 2, 4};
    const std::vector<TokenIndex> kept = {1, 2};
    ASSERT_TRUE(assign_masses({flat.data(), 3, 3}, {}, kept, masses).ok());
    EXPECT_THAT(masses, ElementsAre(0, 3, 4));
}

TEST(Masses, TheTotalStays) {
    std::mt19937 random(71);
    SelectWorkspace workspace;
    SelectPlan plan;
    for (int i = 0; i < 300; ++i) {
        const testing::Case sample = testing::make_case(static_cast<testing::Kind>(i % 4), 40, random);
        const std::size_t n = sample.rows();
        std::vector<float> matrix(n * n);
        ASSERT_TRUE(gram(sample.input().features, workspace, nullptr, matrix.data(), n).ok());
        ASSERT_TRUE(select(sample.input(), sample.options, workspace, nullptr, plan).ok());
        std::vector<float> masses(n, 1.0F);
        ASSERT_TRUE(assign_masses({matrix.data(), n, n}, sample.live, plan.kept, masses).ok());
        EXPECT_EQ(std::accumulate(masses.begin(), masses.end(), 0.0F), static_cast<float>(n));
    }
}

TEST(Masses, WrongInputIsRefused) {
    std::vector<float> masses(5, 1.0F);
    const auto message = [&](std::vector<TokenIndex> live, std::vector<TokenIndex> kept) {
        const Status status = assign_masses(kView, live, kept, masses);
        EXPECT_EQ(status.code(), Code::InvalidArgument);
        return status.message();
    };
    EXPECT_THAT(message({}, {}), HasSubstr("no token is kept"));
    EXPECT_THAT(message({}, {3, 1}), HasSubstr("must rise"));
    EXPECT_THAT(message({}, {2, 5}), HasSubstr("kept token 5 is not live"));
    EXPECT_THAT(message({0, 1}, {2}), HasSubstr("kept token 2 is not live"));
    EXPECT_THAT(message({1, 0}, {0}), HasSubstr("live tokens must rise"));
    for (const float bad :
         {-1.0F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
        masses[2] = bad;
        EXPECT_THAT(message({}, {0}), HasSubstr("mass of token 2"));
    }
    masses.resize(4);
    EXPECT_THAT(message({}, {0}), HasSubstr("4 masses for 5 tokens"));
}

}  // namespace
}  // namespace clasp
