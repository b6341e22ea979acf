#include "methods/divprune.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "token_case.h"

namespace clasp::methods {
namespace {

using namespace testing;

// Distances from the vectors, all of them again for every pick.
std::vector<TokenIndex> reference(const Rows& features, std::size_t keep) {
    std::vector<TokenIndex> chosen;
    while (chosen.size() < keep) {
        TokenIndex best = 0;
        double best_distance = -1;
        for (TokenIndex i = 0; i < features.size(); ++i) {
            if (std::find(chosen.begin(), chosen.end(), i) != chosen.end()) continue;
            double nearest = 3;
            for (TokenIndex j = 0; j < features.size(); ++j) {
                const bool counts =
                    chosen.empty() ? j != i : std::find(chosen.begin(), chosen.end(), j) != chosen.end();
                if (counts) nearest = std::min(nearest, 1.0 - cosine(features[i], features[j]));
            }
            if (nearest > best_distance) {
                best_distance = nearest;
                best = i;
            }
        }
        chosen.push_back(best);
    }
    return chosen;
}

TEST(Divprune, PicksTheWorkedExample) {
    const std::vector<double> angles = {0, 5, 40, 90, 100};
    const Cosines gram = cosines(at_degrees(angles), 2);
    std::vector<TokenIndex> chosen;
    add_most_distant(gram.view(), std::vector<TokenIndex>{0, 1, 2, 3, 4}, 3, chosen);
    EXPECT_EQ(chosen, (std::vector<TokenIndex>{2, 4, 0}));
    EXPECT_EQ(divprune(gram.view(), 3)->kept, (std::vector<TokenIndex>{0, 2, 4}));
}

TEST(Divprune, AgreesWithDistancesOfPlainVectors) {
    for (unsigned seed = 0; seed < 20; ++seed) {
        const std::vector<float> features = random_numbers(50 * 7, seed);
        const Cosines gram = cosines(features, 7);
        std::vector<TokenIndex> all(50);
        std::iota(all.begin(), all.end(), 0U);
        std::vector<TokenIndex> chosen;
        add_most_distant(gram.view(), all, 20, chosen);
        EXPECT_EQ(chosen, reference(as_rows(features, 7), 20));
    }
}

TEST(Divprune, AddsToAGivenSetAmongLiveTokensOnly) {
    const std::vector<double> angles = {0, 5, 40, 90, 100};
    const Cosines gram = cosines(at_degrees(angles), 2);
    std::vector<TokenIndex> chosen = {1};
    add_most_distant(gram.view(), std::vector<TokenIndex>{0, 1, 2, 3}, 2, chosen);
    EXPECT_EQ(chosen, (std::vector<TokenIndex>{1, 3, 2}));
}

TEST(Divprune, FollowsAPermutationOfTheTokens) {
    const std::vector<float> features = random_numbers(40 * 6, 9);
    std::vector<TokenIndex> to(40);
    std::iota(to.begin(), to.end(), 0U);
    std::shuffle(to.begin(), to.end(), std::mt19937(4));
    std::vector<float> shuffled(features.size());
    for (std::size_t i = 0; i < 40; ++i) {
        std::copy_n(features.begin() + static_cast<std::ptrdiff_t>(i * 6), 6,
                    shuffled.begin() + static_cast<std::ptrdiff_t>(to[i] * 6));
    }
    std::vector<TokenIndex> expected;
    const auto plain = divprune(cosines(features, 6).view(), 15);
    for (const TokenIndex token : plain->kept) expected.push_back(to[token]);
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(divprune(cosines(shuffled, 6).view(), 15)->kept, expected);
}

TEST(Divprune, CopiesComeLast) {
    // Two copies each of three directions: the three directions first, then copies by index.
    const std::vector<double> angles = {0, 0, 60, 60, 120, 120};
    const Cosines gram = cosines(at_degrees(angles), 2);
    EXPECT_EQ(divprune(gram.view(), 3)->kept, (std::vector<TokenIndex>{0, 2, 4}));
    EXPECT_EQ(divprune(gram.view(), 5)->size(), 5U);
}

}  // namespace
}  // namespace clasp::methods
