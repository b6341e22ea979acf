#include "methods/vispruner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "token_case.h"

namespace clasp::methods {
namespace {

using namespace testing;

// Steps 1 to 3 with cosines taken anew from the vectors in each round.
std::vector<TokenIndex> vispruner_reference(const Rows& features, const std::vector<float>& attention,
                                            std::size_t n_important, std::size_t n_diverse) {
    const std::vector<TokenIndex> order = by_score(attention);
    std::vector<TokenIndex> kept(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n_important));
    std::vector<TokenIndex> list(order.begin() + static_cast<std::ptrdiff_t>(n_important), order.end());
    while (list.size() > n_diverse) {
        std::vector<std::pair<double, TokenIndex>> even;
        std::vector<TokenIndex> odd;
        for (std::size_t i = 1; i < list.size(); i += 2) odd.push_back(list[i]);
        for (std::size_t i = 0; i < list.size(); i += 2) {
            double nearest = -2;
            for (const TokenIndex b : odd)
                nearest = std::max(nearest, cosine(features[list[i]], features[b]));
            even.emplace_back(nearest, list[i]);
        }
        std::stable_sort(even.begin(), even.end(),
                         [](const auto& a, const auto& b) { return a.first > b.first; });
        const std::size_t n_deleted = std::min<std::size_t>(8, list.size() - n_diverse);
        list.clear();
        for (std::size_t i = n_deleted; i < even.size(); ++i) list.push_back(even[i].second);
        list.insert(list.end(), odd.begin(), odd.end());
    }
    kept.insert(kept.end(), list.begin(), list.end());
    std::sort(kept.begin(), kept.end());
    return kept;
}

TEST(Vispruner, DeduplicatesTheWorkedExample) {
    const std::vector<double> angles = {0, 1, 30, 33, 80, 95};
    const Cosines gram = cosines(at_degrees(angles), 2);
    std::vector<TokenIndex> list = {0, 1, 2, 3, 4, 5};
    vispruner_deduplicate(gram.view(), 4, 8, list);
    EXPECT_EQ(list, (std::vector<TokenIndex>{4, 1, 3, 5}));  // 80, 1, 33, 95 degrees
}

TEST(Vispruner, AgreesWithTheStepsOnPlainVectors) {
    for (unsigned seed = 0; seed < 20; ++seed) {
        const std::vector<float> features = random_numbers(101 * 8, seed);
        const std::vector<float> attention = random_attention(101, seed + 30);
        const Cosines gram = cosines(features, 8);
        for (const std::size_t keep : {2U, 21U, 64U}) {
            const auto plan = vispruner(attention, gram.view(), keep, {});
            ASSERT_TRUE(plan.ok());
            EXPECT_EQ(plan->kept,
                      vispruner_reference(as_rows(features, 8), attention, keep / 2, keep - keep / 2));
        }
    }
}

TEST(Vispruner, WithoutDiversityIsTheMostAttended) {
    const std::vector<float> features = random_numbers(30 * 4, 1);
    const std::vector<float> attention = random_attention(30, 2);
    const auto plan = vispruner(attention, cosines(features, 4).view(), 10, {.important_share = 1.0});
    std::vector<TokenIndex> best = by_score(attention);
    best.resize(10);
    std::sort(best.begin(), best.end());
    EXPECT_EQ(plan->kept, best);
}

TEST(Vispruner, RefusesBadOptions) {
    const std::vector<float> features = random_numbers(30 * 4, 1);
    const std::vector<float> attention = random_attention(30, 2);
    const Cosines gram = cosines(features, 4);
    EXPECT_FALSE(vispruner(attention, gram.view(), 10, {.important_share = 1.1}).ok());
    EXPECT_FALSE(vispruner(attention, gram.view(), 10, {.per_round = 0}).ok());
}

}  // namespace
}  // namespace clasp::methods
