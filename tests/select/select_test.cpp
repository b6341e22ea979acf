// Examples, borders and errors of the selection.
#include "clasp/select.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "select/cases.h"

namespace clasp {
namespace {

using testing::Case;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Kind;
using testing::make_case;
using testing::make_features;
using ::testing::SizeIs;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

SelectPlan run(const SelectInput& input, const SelectOptions& options) {
    SelectWorkspace workspace;
    SelectPlan plan;
    const Status status = select(input, options, workspace, nullptr, plan);
    EXPECT_TRUE(status.ok()) << status.message();
    return plan;
}

Status error_of(const SelectInput& input, const SelectOptions& options) {
    SelectWorkspace workspace;
    SelectPlan plan;
    return select(input, options, workspace, nullptr, plan);
}

Case plain_case(std::size_t rows, std::size_t width, Kind kind = Kind::Random) {
    std::mt19937 random(static_cast<unsigned>(rows * 131 + width));
    Case sample;
    sample.width = width;
    sample.features = make_features(kind, rows, width, random);
    sample.scores = make_features(Kind::Random, rows, 1, random);
    return sample;
}

TEST(Select, KeepsTheHighestScoreAndTheMiddleOfTheRest) {
    // Token 1 has the highest score; of the others 4 lies in the middle.
    const std::vector<float> features = {1, 0, 1, 0, 0.1F, 1, -0.1F, 1, 0, 1};
    const std::vector<float> scores = {0.1F, 0.9F, 0.2F, 0.3F, 0.2F};
    SelectInput input;
    input.features = {features.data(), 5, 2, 2};
    input.scores = scores;
    const SelectPlan plan = run(input, {.budget = 3, .split = 0.34});
    EXPECT_THAT(plan.kept, ElementsAre(0, 1, 4));
    EXPECT_THAT(plan.pivots, ElementsAre(1));
    EXPECT_THAT(plan.coverage, ElementsAre(0, 4));
    EXPECT_THAT(plan.reasons, ElementsAre(KeepReason::Coverage, KeepReason::Pivot, KeepReason::Coverage));
    EXPECT_EQ(plan.iterations, plan.objective.size());
}

TEST(Select, EveryPlanHasExactlyTheBudgetRisingAndDisjoint) {
    std::mt19937 random(21);
    SelectWorkspace workspace;
    SelectPlan plan;
    for (int i = 0; i < 2000; ++i) {
        const auto kind = static_cast<Kind>(i % 4);
        Case sample = make_case(kind, 30, random);
        sample.options.seed = i % 3 == 0 ? random() : 0;
        ASSERT_TRUE(select(sample.input(), sample.options, workspace, nullptr, plan).ok());
        ASSERT_THAT(plan.kept, SizeIs(std::min(sample.options.budget, sample.n_live())));
        ASSERT_TRUE(std::adjacent_find(plan.kept.begin(), plan.kept.end(), std::greater_equal<>()) ==
                    plan.kept.end());
        ASSERT_EQ(plan.reasons.size(), plan.kept.size());
        if (sample.options.budget >= sample.n_live()) {
            ASSERT_THAT(plan.reasons, Each(KeepReason::All));
            ASSERT_THAT(plan.pivots, IsEmpty());
            ASSERT_THAT(plan.coverage, IsEmpty());
            continue;
        }
        ASSERT_EQ(plan.pivots.size(), pivot_count(sample.options.split, sample.options.budget));
        std::vector<TokenIndex> both;
        std::merge(plan.pivots.begin(), plan.pivots.end(), plan.coverage.begin(), plan.coverage.end(),
                   std::back_inserter(both));
        ASSERT_EQ(both, plan.kept);
        for (std::size_t k = 0; k < plan.kept.size(); ++k) {
            const bool is_pivot = std::binary_search(plan.pivots.begin(), plan.pivots.end(), plan.kept[k]);
            ASSERT_EQ(plan.reasons[k], is_pivot ? KeepReason::Pivot : KeepReason::Coverage);
        }
    }
}

TEST(Select, PivotCountIsWhatThePaperMeans) {
    EXPECT_EQ(pivot_count(0.7, 10), 7U);
    EXPECT_EQ(pivot_count(0.29, 100), 29U);  // 28.999999999999996 in double precision
    EXPECT_EQ(pivot_count(0.57, 100), 57U);
    EXPECT_EQ(pivot_count(static_cast<double>(0.7F), 300), 210U);
    EXPECT_EQ(pivot_count(0.699, 10), 6U);
    EXPECT_EQ(pivot_count(0.0, 5), 0U);
    EXPECT_EQ(pivot_count(1.0, 5), 5U);
    for (std::size_t percent = 0; percent <= 100; ++percent) {
        for (std::size_t budget = 1; budget < 600; ++budget) {
            const double split = static_cast<double>(percent) / 100.0;
            ASSERT_EQ(pivot_count(split, budget), percent * budget / 100) << percent << " % of " << budget;
        }
    }
}

TEST(Select, SplitOneKeepsTheTopScoresOnly) {
    const Case sample = plain_case(12, 4);
    const SelectPlan plan = run(sample.input(), {.budget = 5, .split = 1.0});
    EXPECT_THAT(plan.pivots, SizeIs(5));
    EXPECT_THAT(plan.coverage, IsEmpty());
    EXPECT_EQ(plan.iterations, 0U);
}

TEST(Select, SplitZeroStartsAwayFromTheMeanDirection) {
    // The mean points along the first axis; tokens 1 and 3 are farthest from it.
    const std::vector<float> features = {1, 0, 0.2F, 1, 1, 0.1F, 0.2F, -1.1F, 1, -0.1F};
    const std::vector<float> scores(5, 0.0F);
    SelectInput input;
    input.features = {features.data(), 5, 2, 2};
    input.scores = scores;
    EXPECT_THAT(run(input, {.budget = 2, .split = 0.0}).seeds, ElementsAre(1, 3));
}

TEST(Select, NoIterationsKeepTheSeeds) {
    const Case sample = plain_case(20, 6);
    const SelectPlan plan = run(sample.input(), {.budget = 8, .split = 0.25, .iterations = 0});
    EXPECT_EQ(plan.coverage, plan.seeds);
    EXPECT_THAT(plan.objective, IsEmpty());
}

TEST(Select, TiesInScoresGoToTheSmallerIndex) {
    Case sample = plain_case(10, 4);
    sample.scores.assign(10, 1.0F);
    EXPECT_THAT(run(sample.input(), {.budget = 4, .split = 1.0}).kept, ElementsAre(0, 1, 2, 3));
}

TEST(Select, OneTokenAndABudgetOfOne) {
    EXPECT_THAT(run(plain_case(1, 3).input(), {.budget = 1}).kept, ElementsAre(0));
    EXPECT_THAT(run(plain_case(1, 3).input(), {.budget = 7}).reasons, ElementsAre(KeepReason::All));
    EXPECT_THAT(run(plain_case(9, 3).input(), {.budget = 1, .split = 0.0}).coverage, SizeIs(1));
    EXPECT_THAT(run(plain_case(9, 3).input(), {.budget = 1, .split = 1.0}).pivots, SizeIs(1));
}

TEST(Select, AllEqualFeaturesKeepTheFirstCandidates) {
    Case sample = plain_case(10, 4);
    for (std::size_t i = 4; i < sample.features.size(); ++i) sample.features[i] = sample.features[i - 4];
    sample.scores = {0, 0, 0, 1, 0, 0, 0, 0, 0, 1};
    const SelectPlan plan = run(sample.input(), {.budget = 5, .split = 0.4});
    EXPECT_THAT(plan.pivots, ElementsAre(3, 9));
    EXPECT_THAT(plan.coverage, ElementsAre(0, 1, 2));
}

TEST(Select, ZeroVectorsAreSimilarToNothing) {
    Case sample = plain_case(8, 3);
    sample.features.assign(sample.features.size(), 0.0F);
    const SelectPlan plan = run(sample.input(), {.budget = 4, .split = 0.5});
    EXPECT_THAT(plan.kept, SizeIs(4));
    EXPECT_THAT(plan.objective, Each(0.0));
}

TEST(Select, OppositeTokensLeaveTheCentreWhereItWas) {
    // One cluster, seeded by token 0, gathers a token and its opposite: their mean has no direction.
    const std::vector<float> features = {1, 0, -1, 0};
    const std::vector<float> scores = {0, 0};
    SelectInput input;
    input.features = {features.data(), 2, 2, 2};
    input.scores = scores;
    const SelectPlan plan = run(input, {.budget = 1, .split = 0.0});
    EXPECT_THAT(plan.kept, ElementsAre(0));
    EXPECT_THAT(plan.objective, Each(0.0));
}

TEST(Select, ASeedOtherThanZeroShakesTheSeedsOnly) {
    const Case sample = plain_case(60, 8);
    const SelectOptions options = {.budget = 20, .split = 0.3};
    const SelectPlan calm = run(sample.input(), options);
    int different = 0;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        SelectOptions shaken_options = options;
        shaken_options.seed = seed;
        const SelectPlan shaken = run(sample.input(), shaken_options);
        EXPECT_EQ(shaken.pivots, calm.pivots);
        EXPECT_EQ(shaken.kept, run(sample.input(), shaken_options).kept);
        if (shaken.seeds != calm.seeds) ++different;
    }
    EXPECT_GE(different, 4);
}

TEST(Select, ReasonsHaveNames) {
    EXPECT_EQ(keep_reason_name(KeepReason::Pivot), "pivot");
    EXPECT_EQ(keep_reason_name(KeepReason::Coverage), "coverage");
    EXPECT_EQ(keep_reason_name(KeepReason::All), "all");
}

TEST(Select, TimingsAddUp) {
    const Case sample = plain_case(50, 16);
    const SelectTimings t = run(sample.input(), {.budget = 20}).timings;
    EXPECT_GT(t.gram_ms, 0.0);
    EXPECT_LE(t.gram_ms + t.pivots_ms + t.seeds_ms + t.clusters_ms + t.medoids_ms, t.total_ms);
}

void expect_refused(const SelectInput& input, const SelectOptions& options, Code code, const char* text) {
    const Status status = error_of(input, options);
    EXPECT_EQ(status.code(), code);
    EXPECT_THAT(status.message(), HasSubstr(text));
}

TEST(SelectErrors, OptionsOutOfRange) {
    const Case sample = plain_case(6, 3);
    const Code invalid = Code::InvalidArgument;
    expect_refused(sample.input(), {.budget = 0}, invalid, "budget is 0");
    expect_refused(sample.input(), {.budget = 2, .split = -0.01}, invalid, "outside [0, 1]");
    expect_refused(sample.input(), {.budget = 2, .split = 1.01}, invalid, "outside [0, 1]");
    expect_refused(sample.input(), {.budget = 2, .split = std::nan("")}, invalid, "outside [0, 1]");
    expect_refused(sample.input(), {.budget = 2, .iterations = 1001}, invalid, "limit of 1000");
}

TEST(SelectErrors, BadNumbersNameTheFirstBadToken) {
    for (const float bad : {kNan, kInfinity, -kInfinity}) {
        Case sample = plain_case(6, 3);
        sample.scores[4] = bad;
        sample.scores[5] = bad;
        expect_refused(sample.input(), {.budget = 2}, Code::InvalidArgument, "score of token 4");
        expect_refused(sample.input(), {.budget = 9}, Code::InvalidArgument, "score of token 4");
        sample = plain_case(6, 3);
        sample.features[2 * 3 + 1] = bad;
        sample.features[5 * 3] = bad;
        expect_refused(sample.input(), {.budget = 2}, Code::InvalidArgument, "features of token 2");
        sample.live = {1, 3, 5};
        sample.scores.resize(3);
        expect_refused(sample.input(), {.budget = 2}, Code::InvalidArgument, "features of token 5");
        sample.scores[1] = bad;
        expect_refused(sample.input(), {.budget = 2}, Code::InvalidArgument, "score of token 3");
    }
}

TEST(SelectErrors, GramEntriesMustBeCosines) {
    const std::vector<float> scores(5, 0.0F);
    for (const float bad : {kNan, kInfinity, 1.5F, -2.0F}) {
        std::vector<float> gram(25, 0.5F);
        SelectInput input;
        input.gram = {gram.data(), 5, 5};
        input.scores = scores;
        gram[1 * 5 + 4] = bad;
        expect_refused(input, {.budget = 2}, Code::InvalidArgument, "tokens 1 and 4");
        gram[3 * 5 + 3] = bad;
        expect_refused(input, {.budget = 2}, Code::InvalidArgument, "tokens 3 and 3");
        // What is not live is not looked at.
        const std::vector<TokenIndex> live = {0, 1, 2};
        input.live = live;
        input.scores = std::span(scores).first(3);
        EXPECT_TRUE(error_of(input, {.budget = 2}).ok());
    }
}

TEST(SelectErrors, WrongShapes) {
    const Case sample = plain_case(6, 3);
    const Code invalid = Code::InvalidArgument;
    const std::vector<float> gram(36, 0.0F);
    SelectInput input = sample.input();
    input.gram = {gram.data(), 6, 6};
    expect_refused(input, {.budget = 2}, invalid, "both");
    input = {};
    expect_refused(input, {.budget = 2}, invalid, "neither");
    input = sample.input();
    input.scores = input.scores.first(5);
    expect_refused(input, {.budget = 2}, invalid, "5 scores for 6 live tokens");
    input = sample.input();
    input.features.stride = 2;
    expect_refused(input, {.budget = 2}, invalid, "stride 2 is below the width 3");
    input.features.width = 0;
    expect_refused(input, {.budget = 2}, invalid, "empty");
    input = sample.input();
    input.features.rows = kMaxSelectTokens + 1;
    expect_refused(input, {.budget = 2}, Code::TooLarge, "limit of 32768");
    input = {};
    input.scores = sample.scores;
    input.gram = {gram.data(), 6, 5};
    expect_refused(input, {.budget = 2}, invalid, "stride 5 is below");
    input.gram = {gram.data(), 0, 0};
    expect_refused(input, {.budget = 2}, invalid, "empty");
    input.gram = {gram.data(), kMaxSelectTokens + 1, kMaxSelectTokens + 1};
    expect_refused(input, {.budget = 2}, Code::TooLarge, "limit of 32768");
}

TEST(SelectErrors, LiveTokensRiseAndExist) {
    const Case sample = plain_case(6, 3);
    for (const auto& live : std::vector<std::vector<TokenIndex>>{{0, 2, 2}, {3, 1, 4}, {0, 1, 6}}) {
        SelectInput input = sample.input();
        input.live = live;
        input.scores = input.scores.first(3);
        EXPECT_EQ(error_of(input, {.budget = 2}).code(), Code::InvalidArgument);
    }
}

}  // namespace
}  // namespace clasp
