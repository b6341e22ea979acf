// What must not change the answer: threads, kernels, the order of tokens, the way the input is given,
// what a workspace was used for before.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

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
using testing::reference_select;
using testing::ReferencePlan;

void expect_same(const SelectPlan& a, const SelectPlan& b) {
    EXPECT_EQ(a.kept, b.kept);
    EXPECT_EQ(a.reasons, b.reasons);
    EXPECT_EQ(a.pivots, b.pivots);
    EXPECT_EQ(a.coverage, b.coverage);
    EXPECT_EQ(a.seeds, b.seeds);
    EXPECT_EQ(a.iterations, b.iterations);
    EXPECT_EQ(a.objective, b.objective);  // bit for bit
}

SelectPlan run(const Case& sample, ThreadPool* pool = nullptr) {
    SelectWorkspace workspace;
    SelectPlan plan;
    const Status status = select(sample.input(), sample.options, workspace, pool, plan);
    EXPECT_TRUE(status.ok()) << status.message();
    return plan;
}

// Large enough that every parallel loop is split.
Case large_case() {
    std::mt19937 random(41);
    Case sample;
    sample.width = 12;
    sample.features = make_features(Kind::Clustered, 1400, sample.width, random);
    sample.scores = make_features(Kind::Random, 1400, 1, random);
    sample.options = {.budget = 1000, .split = 0.1};
    return sample;
}

TEST(Invariance, OneToFourThreadsGiveTheSameBits) {
    const Case sample = large_case();
    const SelectPlan alone = run(sample);
    for (std::size_t n_threads = 1; n_threads <= 4; ++n_threads) {
        ThreadPool pool(n_threads);
        expect_same(run(sample, &pool), alone);
    }
}

TEST(Invariance, OneToFourThreadsGiveTheSameGramBits) {
    const Case sample = large_case();
    const std::size_t n = sample.rows();
    SelectWorkspace workspace;
    std::vector<float> alone(n * n);
    ASSERT_TRUE(gram(sample.input().features, workspace, nullptr, alone.data(), n).ok());
    for (std::size_t n_threads = 1; n_threads <= 4; ++n_threads) {
        ThreadPool pool(n_threads);
        std::vector<float> matrix(n * n);
        ASSERT_TRUE(gram(sample.input().features, workspace, &pool, matrix.data(), n).ok());
        EXPECT_EQ(matrix, alone);
    }
}

TEST(Invariance, AGramMatrixGivesWhatTheFeaturesGive) {
    std::mt19937 random(42);
    SelectWorkspace workspace;
    for (int i = 0; i < 500; ++i) {
        const Case sample = make_case(static_cast<Kind>(i % 4), 30, random);
        const std::size_t n = sample.rows();
        const std::size_t stride = n + static_cast<std::size_t>(i % 3);
        std::vector<float> matrix(n * stride);
        ASSERT_TRUE(gram(sample.input().features, workspace, nullptr, matrix.data(), stride).ok());
        SelectInput input;
        input.gram = {matrix.data(), n, stride};
        input.live = sample.live;
        input.scores = sample.scores;
        SelectPlan plan;
        ASSERT_TRUE(select(input, sample.options, workspace, nullptr, plan).ok());
        expect_same(plan, run(sample));
    }
}

TEST(Invariance, ALiveSetIsTheSameAsItsPartOfTheGramMatrix) {
    std::mt19937 random(43);
    SelectWorkspace workspace;
    for (int i = 0; i < 500; ++i) {
        Case sample = make_case(static_cast<Kind>(i % 4), 30, random);
        if (sample.live.empty()) continue;
        const SelectPlan whole = run(sample);
        Case part = sample;
        part.features.clear();
        for (const TokenIndex token : sample.live) {
            const auto begin = sample.features.begin() + static_cast<std::ptrdiff_t>(token * sample.width);
            part.features.insert(part.features.end(), begin,
                                 begin + static_cast<std::ptrdiff_t>(sample.width));
        }
        part.live.clear();
        SelectPlan expected = run(part);
        for (auto* tokens : {&expected.kept, &expected.pivots, &expected.coverage, &expected.seeds}) {
            for (TokenIndex& token : *tokens) token = sample.live[token];
        }
        expect_same(whole, expected);
    }
}

TEST(Invariance, ThePlanFollowsAPermutationOfTheTokens) {
    std::mt19937 random(44);
    int compared = 0;
    for (int i = 0; i < 3000; ++i) {
        Case sample = make_case(i % 2 == 0 ? Kind::Random : Kind::Clustered, 30, random);
        sample.live.clear();
        sample.scores = make_features(Kind::Random, sample.rows(), 1, random);
        // Ties follow the index and cannot follow the tokens.
        const ReferencePlan reference =
            reference_select(sample.features, sample.width, {}, sample.scores, sample.options);
        if (reference.has_tie || reference.gap < 1e-5) continue;
        std::vector<TokenIndex> order(sample.rows());
        std::iota(order.begin(), order.end(), 0U);
        std::shuffle(order.begin(), order.end(), random);
        Case shuffled = sample;
        for (std::size_t row = 0; row < order.size(); ++row) {
            shuffled.scores[row] = sample.scores[order[row]];
            std::copy_n(sample.features.begin() + static_cast<std::ptrdiff_t>(order[row] * sample.width),
                        sample.width,
                        shuffled.features.begin() + static_cast<std::ptrdiff_t>(row * sample.width));
        }
        const SelectPlan expected = run(sample);
        SelectPlan plan = run(shuffled);
        for (TokenIndex& token : plan.kept) token = order[token];
        std::sort(plan.kept.begin(), plan.kept.end());
        EXPECT_EQ(plan.kept, expected.kept);
        EXPECT_EQ(plan.iterations, expected.iterations);
        if (!expected.coverage.empty() && expected.iterations > 1) ++compared;
    }
    EXPECT_GE(compared, 200);
}

TEST(Invariance, AUsedWorkspaceGivesWhatAFreshOneGives) {
    std::mt19937 random(46);
    SelectWorkspace workspace;
    SelectPlan plan;
    for (int i = 0; i < 500; ++i) {
        const Case sample = make_case(static_cast<Kind>(i % 4), i % 7 == 0 ? 120 : 20, random);
        ASSERT_TRUE(select(sample.input(), sample.options, workspace, nullptr, plan).ok());
        expect_same(plan, run(sample));
    }
}

TEST(Invariance, EveryKernelMakesTheSameSelectionFromAGramMatrix) {
    std::mt19937 random(47);
    for (int i = 0; i < 300; ++i) {
        const Case sample = make_case(static_cast<Kind>(i % 4), 70, random);
        const std::size_t n = sample.rows();
        std::vector<float> matrix(n * n);
        SelectWorkspace workspace;
        ASSERT_TRUE(gram(sample.input().features, workspace, nullptr, matrix.data(), n).ok());
        SelectInput input;
        input.gram = {matrix.data(), n, n};
        input.live = sample.live;
        input.scores = sample.scores;
        SelectPlan expected;
        selection::force_kernels(&selection::scalar_kernels());
        ASSERT_TRUE(select(input, sample.options, workspace, nullptr, expected).ok());
        for (const selection::Kernels* kernels : selection::usable_kernels()) {
            selection::force_kernels(kernels);
            SelectPlan plan;
            ASSERT_TRUE(select(input, sample.options, workspace, nullptr, plan).ok());
            expect_same(plan, expected);
        }
        selection::force_kernels(nullptr);
    }
}

}  // namespace
}  // namespace clasp
