// Coverage without a matrix of similarities: the answer of the paper's equations and of the matrix, but for
// ties; the same bits whatever computes.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "clasp/select.h"
#include "clasp/thread_pool.h"
#include "select/cases.h"
#include "select/kernels/kernels.h"
#include "select/reference.h"

namespace clasp {
namespace {

using testing::Case;
using testing::Kind;
using testing::make_case;
using testing::make_features;

// A decision closer than this is a tie in single precision.
constexpr double kNearTie = 1e-5;

SelectPlan select_in(const Case& sample, std::size_t gram_limit, ThreadPool* pool = nullptr) {
    SelectWorkspace workspace;
    SelectPlan plan;
    SelectOptions options = sample.options;
    options.gram_limit = gram_limit;
    const Status status = select(sample.input(), options, workspace, pool, plan);
    EXPECT_TRUE(status.ok()) << status.message();
    return plan;
}

// How many of the cases are well separated.
int compare_spaces(Kind kind, std::size_t max_rows, int n_cases, unsigned seed) {
    std::mt19937 random(seed);
    int n_separated = 0;
    for (int i = 0; i < n_cases; ++i) {
        const Case sample = make_case(kind, max_rows, random);
        const SelectPlan with_matrix = select_in(sample, kMaxGramTokens);
        const SelectPlan without = select_in(sample, 0);
        EXPECT_EQ(without.pivots, with_matrix.pivots);
        EXPECT_EQ(without.kept.size(), with_matrix.kept.size());
        const testing::ReferencePlan expected = testing::reference_select(
            sample.features, sample.width, sample.live, sample.scores, sample.options);
        if (expected.gap < kNearTie) continue;
        ++n_separated;
        EXPECT_EQ(without.kept, expected.kept) << "case " << i;
        EXPECT_EQ(without.kept, with_matrix.kept) << "case " << i;
        EXPECT_EQ(without.coverage, with_matrix.coverage);
        EXPECT_EQ(without.seeds, with_matrix.seeds);
        EXPECT_EQ(without.iterations, with_matrix.iterations);
        EXPECT_EQ(without.objective.size(), with_matrix.objective.size());
        for (std::size_t r = 0; r < std::min(without.objective.size(), expected.objective.size()); ++r) {
            EXPECT_NEAR(without.objective[r], expected.objective[r], 1e-4);
        }
    }
    return n_separated;
}

TEST(FeatureSpace, GivesTheAnswerOfTheMatrix) {
    EXPECT_GE(compare_spaces(Kind::Random, 40, 3000, 101), 1500);
    EXPECT_GE(compare_spaces(Kind::Random, 160, 60, 102), 1);
    EXPECT_GE(compare_spaces(Kind::Clustered, 60, 1000, 103), 500);
}

// Equal tokens, zero rows, opposite ones: ties on paper, so only the properties are compared.
TEST(FeatureSpace, KeepsTheBudgetOfDegenerateInputs) {
    compare_spaces(Kind::Duplicated, 40, 600, 104);
    compare_spaces(Kind::Degenerate, 40, 600, 105);
}

// Two members of a cluster are equally near to its centre, so the first is its medoid, as with the matrix.
TEST(FeatureSpace, PairsGoToTheSmallerIndex) {
    std::mt19937 random(106);
    for (int round = 0; round < 50; ++round) {
        constexpr std::size_t kPairs = 6;
        Case sample;
        sample.width = 16;
        sample.features = make_features(Kind::Random, kPairs, sample.width, random);
        // A twin of each, a little apart.
        std::vector<float> twins = sample.features;
        for (float& value : twins) value += 0.01F * static_cast<float>(random() % 100) / 100.0F;
        sample.features.insert(sample.features.end(), twins.begin(), twins.end());
        sample.scores.assign(2 * kPairs, 0.0F);
        sample.options = {.budget = kPairs, .split = 0.0, .iterations = 50};
        EXPECT_EQ(select_in(sample, 0).kept, select_in(sample, kMaxGramTokens).kept) << round;
    }
}

TEST(FeatureSpace, ThreadsAndWorkspacesChangeNoBit) {
    std::mt19937 random(107);
    Case sample;
    sample.width = 12;
    sample.features = make_features(Kind::Clustered, 700, sample.width, random);
    sample.scores = make_features(Kind::Random, 700, 1, random);
    for (const double split : {0.0, 0.3}) {
        sample.options = {.budget = 500, .split = split};
        const SelectPlan alone = select_in(sample, 0);
        EXPECT_EQ(alone.kept.size(), 500U);
        for (std::size_t n_threads = 2; n_threads <= 4; ++n_threads) {
            ThreadPool pool(n_threads);
            const SelectPlan together = select_in(sample, 0, &pool);
            EXPECT_EQ(together.kept, alone.kept);
            EXPECT_EQ(together.objective, alone.objective);
        }
    }
}

TEST(FeatureSpace, IsTakenBeyondTheLimitAlone) {
    std::mt19937 random(108);
    Case sample;
    sample.width = 3;
    sample.features = make_features(Kind::Random, 20, sample.width, random);
    sample.scores.assign(20, 0.5F);
    sample.features[7 * 3] = std::numeric_limits<float>::quiet_NaN();
    sample.options = {.budget = 5, .gram_limit = 19};
    SelectWorkspace workspace;
    SelectPlan plan;
    const Status bad = select(sample.input(), sample.options, workspace, nullptr, plan);
    EXPECT_EQ(bad.message(), "the features of token 7 hold NaN or infinity");
    sample.features[7 * 3] = 1.0F;
    sample.options.gram_limit = 20;
    const SelectPlan at_limit = select_in(sample, 20);
    EXPECT_EQ(at_limit.kept.size(), 5U);
}

TEST(FeatureSpaceMasses, AreThoseOfTheMatrix) {
    std::mt19937 random(109);
    SelectWorkspace workspace;
    for (int i = 0; i < 300; ++i) {
        const Case sample = make_case(static_cast<Kind>(i % 4), 120, random);
        const std::size_t n = sample.rows();
        std::vector<float> matrix(n * n);
        const FeatureView features = sample.input().features;
        ASSERT_TRUE(gram(features, workspace, nullptr, matrix.data(), n).ok());
        const SelectPlan plan = select_in(sample, kMaxGramTokens);
        std::vector<float> wanted(n);
        for (float& mass : wanted) mass = static_cast<float>(random() % 5);
        std::vector<float> masses = wanted;
        ASSERT_TRUE(assign_masses({matrix.data(), n, n}, sample.live, plan.kept, wanted).ok());
        ThreadPool pool(2);
        ASSERT_TRUE(assign_masses(features, sample.live, plan.kept, workspace, &pool, masses).ok());
        EXPECT_EQ(masses, wanted);
    }
    const std::vector<float> rows = {1, 0, 0, 1};
    std::vector<float> masses = {1, 1};
    EXPECT_EQ(assign_masses({rows.data(), 2, 2, 2}, {}, {}, workspace, nullptr, masses).message(),
              "no token is kept that could take the masses");
}

}  // namespace
}  // namespace clasp
