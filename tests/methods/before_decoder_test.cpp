// Properties of the algorithms that work before the decoder, whatever they look at.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <string>

#include "methods/cdpruner.h"
#include "methods/divprune.h"
#include "methods/fastervlm.h"
#include "methods/holov.h"
#include "methods/nuwa.h"
#include "methods/prumerge.h"
#include "methods/uniform_grid.h"
#include "methods/visionzip.h"
#include "methods/vispruner.h"
#include "token_case.h"

namespace clasp::methods {
namespace {

using namespace testing;

constexpr std::size_t kRows = 6;
constexpr std::size_t kColumns = 7;
constexpr std::size_t kPatches = kRows * kColumns;

struct Signals {
    std::vector<float> scores;
    Cosines gram;
};

struct Algorithm {
    std::string name;
    std::function<Result<Plan>(const Signals&, std::size_t)> choose;
    bool looks_at_scores = true;
    bool looks_at_gram = true;
};

void PrintTo(const Algorithm& algorithm, std::ostream* out) {
    *out << algorithm.name;
}

const std::vector<Algorithm>& algorithms() {
    static const std::vector<Algorithm> kAll = {
        {"fastervlm", [](const Signals& s, std::size_t k) { return fastervlm(s.scores, k); }, true, false},
        {"vispruner",
         [](const Signals& s, std::size_t k) { return vispruner(s.scores, s.gram.view(), k, {}); }},
        {"divprune", [](const Signals& s, std::size_t k) { return divprune(s.gram.view(), k); }, false, true},
        {"holov", [](const Signals& s, std::size_t k) { return holov(s.scores, s.gram.view(), k, {}); }},
        {"cdpruner",
         [](const Signals& s, std::size_t k) { return cdpruner(s.gram.view(), s.scores, k, {}); }},
        {"visionzip",
         [](const Signals& s, std::size_t k) { return visionzip(s.scores, s.gram.view(), k, {}); }},
        {"prumerge",
         [](const Signals& s, std::size_t k) { return prumerge(s.scores, s.gram.view(), k, {}); }},
        {"prumerge_plus",
         [](const Signals& s, std::size_t k) {
             return prumerge(s.scores, s.gram.view(), k, {.is_plus = true});
         }},
        {"nuwa",
         [](const Signals& s, std::size_t k) {
             return nuwa({s.scores, s.gram.view(), kRows, kColumns}, k, {});
         }},
        {"lattice",
         [](const Signals&, std::size_t k) { return uniform_grid(kRows, kColumns, k, UniformMode::Lattice); },
         false, false},
        {"stride",
         [](const Signals&, std::size_t k) { return uniform_grid(kRows, kColumns, k, UniformMode::Stride); },
         false, false},
        {"pool",
         [](const Signals&, std::size_t k) { return uniform_grid(kRows, kColumns, k, UniformMode::Pool); },
         false, false},
    };
    return kAll;
}

class BeforeDecoder : public ::testing::TestWithParam<Algorithm> {};

Signals random_signals(unsigned seed) {
    return {random_attention(kPatches, seed), cosines(random_numbers(kPatches * 5, seed + 1), 5)};
}

TEST_P(BeforeDecoder, EmitsExactlyTheBudgetEachPlaceOnce) {
    const Signals signals = random_signals(1);
    for (std::size_t keep = 1; keep < kPatches; ++keep) {
        const auto plan = GetParam().choose(signals, keep);
        ASSERT_TRUE(plan.ok()) << plan.status().message();
        ASSERT_EQ(plan->size(), keep);
        std::vector<TokenIndex> places = plan->kept;
        std::sort(places.begin(), places.end());
        EXPECT_EQ(std::adjacent_find(places.begin(), places.end()), places.end());
        for (const TokenIndex place : places) EXPECT_TRUE(place < kPatches || place == kClassToken);
    }
}

TEST_P(BeforeDecoder, ABudgetThatCoversAllIsTheIdentity) {
    const Signals signals = random_signals(2);
    std::vector<TokenIndex> all(kPatches);
    std::iota(all.begin(), all.end(), 0U);
    for (const std::size_t keep : {kPatches, kPatches + 1, 10 * kPatches}) {
        const auto plan = GetParam().choose(signals, keep);
        ASSERT_TRUE(plan.ok());
        EXPECT_EQ(plan->kept, all);
        EXPECT_FALSE(plan->merges());
    }
}

TEST_P(BeforeDecoder, EqualAndZeroTokensAreNoTrouble) {
    const std::vector<float> equal(kPatches, 0.01F);
    const Signals same = {equal, cosines(std::vector<float>(kPatches * 5, 0.3F), 5)};
    const Signals zero = {std::vector<float>(kPatches, 0.0F),
                          cosines(std::vector<float>(kPatches * 5, 0.0F), 5)};
    for (const std::size_t keep : {1U, 9U, 41U}) {
        for (const Signals* signals : {&same, &zero}) {
            const auto plan = GetParam().choose(*signals, keep);
            ASSERT_TRUE(plan.ok()) << plan.status().message();
            EXPECT_EQ(plan->size(), keep);
            for (std::size_t i = 0; i < plan->size(); ++i) {
                for (const MergeSource& source : plan->sources(i)) EXPECT_TRUE(std::isfinite(source.weight));
            }
        }
    }
}

TEST_P(BeforeDecoder, NumbersThatAreNoneAreRefusedByName) {
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        Signals signals = random_signals(3);
        signals.scores[17] = bad;
        const auto by_score = GetParam().choose(signals, 9);
        EXPECT_EQ(by_score.ok(), !GetParam().looks_at_scores);
        if (!by_score.ok()) {
            EXPECT_NE(by_score.status().message().find("token 17"), std::string::npos);
        }
        signals = random_signals(3);
        for (std::size_t i = 0; i < kPatches; ++i) {
            signals.gram.data[23 * kPatches + i] = signals.gram.data[i * kPatches + 23] = bad;
        }
        const auto by_gram = GetParam().choose(signals, 9);
        EXPECT_EQ(by_gram.ok(), !GetParam().looks_at_gram);
        if (!by_gram.ok()) {
            EXPECT_NE(by_gram.status().message().find("23"), std::string::npos);
        }
    }
}

TEST_P(BeforeDecoder, ABudgetOfNothingIsRefused) {
    EXPECT_EQ(GetParam().choose(random_signals(4), 0).status().message(),
              "the budget is 0, but at least 1 token must stay");
}

TEST_P(BeforeDecoder, DoesNotDependOnTheThreadsOfTheCosines) {
    const std::vector<float> features = random_numbers(kPatches * 5, 6);
    const Signals alone = {random_attention(kPatches, 5), cosines(features, 5)};
    const auto expected = GetParam().choose(alone, 13);
    for (const std::size_t n_threads : {2U, 3U}) {
        ThreadPool pool(n_threads);
        const auto plan = GetParam().choose({alone.scores, cosines(features, 5, &pool)}, 13);
        EXPECT_EQ(plan->kept, expected->kept);
        for (std::size_t i = 0; i < plan->size(); ++i) {
            EXPECT_TRUE(std::equal(plan->sources(i).begin(), plan->sources(i).end(),
                                   expected->sources(i).begin(), expected->sources(i).end()));
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, BeforeDecoder, ::testing::ValuesIn(algorithms()),
                         [](const auto& param_info) { return param_info.param.name; });

}  // namespace
}  // namespace clasp::methods
