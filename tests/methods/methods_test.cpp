// Properties that every method has to have, over all registered ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "methods/method.h"

namespace clasp::methods {
namespace {

struct Tokens {
    std::vector<float> gram;
    std::vector<float> scores;
    std::vector<TokenIndex> live;
    std::size_t n = 0;

    [[nodiscard]] StageInput stage(std::size_t keep) const {
        StageInput input;
        input.gram = {gram.data(), n, n};
        input.live = live;
        input.scores = scores;
        input.keep = keep;
        input.split = 0.6;
        return input;
    }
};

// n tokens of which every third is already gone.
Tokens make_tokens(std::size_t n, unsigned seed) {
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal;
    constexpr std::size_t kWidth = 8;
    std::vector<float> features(n * kWidth);
    for (float& value : features) value = normal(engine);
    Tokens tokens;
    tokens.n = n;
    tokens.gram.resize(n * n);
    SelectWorkspace workspace;
    EXPECT_TRUE(gram({features.data(), n, kWidth, kWidth}, workspace, nullptr, tokens.gram.data(), n).ok());
    for (TokenIndex t = 0; t < n; ++t) {
        if (t % 3 == 2) continue;
        tokens.live.push_back(t);
        tokens.scores.push_back(std::abs(normal(engine)));
    }
    return tokens;
}

class EveryMethod : public testing::TestWithParam<Method> {};

TEST_P(EveryMethod, KeepsExactlyWhatIsAskedRisingAndAlive) {
    SelectWorkspace workspace;
    SelectPlan plan;
    for (const std::size_t n : {4U, 30U, 90U}) {
        const Tokens tokens = make_tokens(n, static_cast<unsigned>(n));
        for (std::size_t keep = 1; keep < tokens.live.size(); ++keep) {
            ASSERT_TRUE(GetParam().choose(tokens.stage(keep), workspace, nullptr, plan).ok());
            ASSERT_EQ(plan.kept.size(), keep);
            ASSERT_EQ(plan.reasons.size(), keep);
            EXPECT_TRUE(std::adjacent_find(plan.kept.begin(), plan.kept.end(), std::greater_equal<>()) ==
                        plan.kept.end());
            EXPECT_TRUE(
                std::includes(tokens.live.begin(), tokens.live.end(), plan.kept.begin(), plan.kept.end()));
            EXPECT_EQ(plan.pivots.size() + plan.coverage.size(), keep);
        }
    }
}

TEST_P(EveryMethod, IsTheSameForAnyNumberOfThreadsAndFromRunToRun) {
    const Tokens tokens = make_tokens(80, 7);
    SelectWorkspace workspace;
    SelectPlan alone;
    ASSERT_TRUE(GetParam().choose(tokens.stage(20), workspace, nullptr, alone).ok());
    for (const std::size_t n_threads : {1U, 2U, 3U}) {
        ThreadPool pool(n_threads);
        SelectPlan plan;
        ASSERT_TRUE(GetParam().choose(tokens.stage(20), workspace, &pool, plan).ok());
        EXPECT_EQ(plan.kept, alone.kept);
    }
}

INSTANTIATE_TEST_SUITE_P(All, EveryMethod, testing::ValuesIn(all_methods().begin(), all_methods().end()),
                         [](const auto& param_info) {
                             std::string name(param_info.param.name);
                             std::replace(name.begin(), name.end(), '+', 'P');
                             return name;
                         });

TEST(Methods, AreFoundByNameOrTheErrorListsThem) {
    ASSERT_TRUE(find_method("clasp+").ok());
    EXPECT_TRUE((*find_method("clasp+"))->uses_masses);
    EXPECT_EQ(find_method("fastest").status().message(),
              "there is no method 'fastest'; there are clasp, clasp+, attention, random, uniform");
}

TEST(Methods, AttentionKeepsTheHighestScores) {
    const Tokens tokens = make_tokens(60, 3);
    SelectWorkspace workspace;
    SelectPlan plan;
    ASSERT_TRUE((*find_method("attention"))->choose(tokens.stage(10), workspace, nullptr, plan).ok());
    std::vector<std::size_t> order(tokens.live.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](auto a, auto b) { return tokens.scores[a] > tokens.scores[b]; });
    std::vector<TokenIndex> best;
    for (std::size_t i = 0; i < 10; ++i) best.push_back(tokens.live[order[i]]);
    std::sort(best.begin(), best.end());
    EXPECT_EQ(plan.kept, best);
    EXPECT_EQ(plan.pivots, best);
}

TEST(Methods, RandomDependsOnTheSeedAndIsNested) {
    const Tokens tokens = make_tokens(90, 5);
    const Method& method = **find_method("random");
    SelectWorkspace workspace;
    SelectPlan wide;
    SelectPlan narrow;
    SelectPlan other;
    ASSERT_TRUE(method.choose(tokens.stage(30), workspace, nullptr, wide).ok());
    ASSERT_TRUE(method.choose(tokens.stage(10), workspace, nullptr, narrow).ok());
    EXPECT_TRUE(std::includes(wide.kept.begin(), wide.kept.end(), narrow.kept.begin(), narrow.kept.end()));
    StageInput shaken = tokens.stage(30);
    shaken.seed = 1;
    ASSERT_TRUE(method.choose(shaken, workspace, nullptr, other).ok());
    EXPECT_NE(wide.kept, other.kept);
}

TEST(Methods, UniformSpreadsOverTheLiveTokens) {
    Tokens tokens = make_tokens(9, 1);  // live: 0 1 3 4 6 7
    SelectWorkspace workspace;
    SelectPlan plan;
    ASSERT_TRUE((*find_method("uniform"))->choose(tokens.stage(3), workspace, nullptr, plan).ok());
    EXPECT_EQ(plan.kept, (std::vector<TokenIndex>{1, 4, 7}));
}

}  // namespace
}  // namespace clasp::methods
