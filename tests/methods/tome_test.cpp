#include "methods/tome.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "methods/encoder_merge.h"
#include "token_case.h"

namespace clasp::methods {
namespace {

using namespace testing;

struct Merged {
    Rows tokens;
    std::vector<double> sizes;
};

// One block of merging on plain vectors, as the method states it.
Merged reference(const Rows& tokens, const Rows& keys, const std::vector<double>& sizes, bool has_class,
                 std::size_t n_merged) {
    struct Edge {
        double similarity;
        std::size_t from;
        std::size_t to;
    };
    std::vector<Edge> edges;
    for (std::size_t a = has_class ? 2 : 0; a < tokens.size(); a += 2) {
        Edge edge = {-2, a, 0};
        for (std::size_t b = 1; b < tokens.size(); b += 2) {
            if (cosine(keys[a], keys[b]) > edge.similarity) edge = {cosine(keys[a], keys[b]), a, b};
        }
        edges.push_back(edge);
    }
    std::stable_sort(edges.begin(), edges.end(),
                     [](const Edge& a, const Edge& b) { return a.similarity > b.similarity; });
    edges.resize(n_merged);
    Merged result;
    for (std::size_t a = 0; a < tokens.size(); a += 2) {
        const bool is_merged =
            std::any_of(edges.begin(), edges.end(), [&](const Edge& edge) { return edge.from == a; });
        if (is_merged) continue;
        result.tokens.push_back(tokens[a]);
        result.sizes.push_back(sizes[a]);
    }
    for (std::size_t b = 1; b < tokens.size(); b += 2) {
        Row sum(tokens[b].size(), 0.0);
        add(sum, sizes[b], tokens[b]);
        double size = sizes[b];
        for (const Edge& edge : edges) {
            if (edge.to != b) continue;
            add(sum, sizes[edge.from], tokens[edge.from]);
            size += sizes[edge.from];
        }
        for (double& value : sum) value /= size;
        result.tokens.push_back(sum);
        result.sizes.push_back(size);
    }
    return result;
}

TEST(Tome, MergesTheWorkedExample) {
    const std::vector<double> angles = {0, 10, 12, 50, 55, 90, 170};
    const std::vector<float> sizes(7, 1.0F);
    const auto plan = tome_step(cosines(at_degrees(angles), 2).view(), true, 2, sizes);
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(plan->kept, (std::vector<TokenIndex>{0, 6, 1, 3, 5}));
    EXPECT_EQ(plan->sizes, (std::vector<float>{1, 1, 2, 2, 1}));
    EXPECT_EQ(plan->sources(2)[1], (MergeSource{2, 0.5F}));
    EXPECT_EQ(plan->sources(3)[1], (MergeSource{4, 0.5F}));
}

TEST(Tome, AgreesWithTheStepsOverSeveralBlocks) {
    for (unsigned seed = 0; seed < 12; ++seed) {
        const bool has_class = seed % 2 == 0;
        const std::size_t n = 41 + seed % 3;
        Merged found = {as_rows(random_numbers(n * 6, seed), 6), std::vector<double>(n, 1.0)};
        Merged expected = found;
        for (unsigned block = 0; block < 4; ++block) {
            const std::vector<float> keys = random_numbers(found.tokens.size() * 5, 100 * seed + block);
            const std::vector<float> sizes(found.sizes.begin(), found.sizes.end());
            const auto plan = tome_step(cosines(keys, 5).view(), has_class, 7, sizes);
            ASSERT_TRUE(plan.ok()) << plan.status().message();
            found = {applied(*plan, found.tokens), {plan->sizes.begin(), plan->sizes.end()}};
            expected = reference(expected.tokens, as_rows(keys, 5), expected.sizes, has_class, 7);
            expect_near(found.tokens, expected.tokens);
            EXPECT_EQ(found.sizes, expected.sizes);
            if (has_class) {
                EXPECT_EQ(plan->kept[0], 0U);
            }
        }
        EXPECT_EQ(found.tokens.size(), n - 28);
        EXPECT_EQ(std::accumulate(found.sizes.begin(), found.sizes.end(), 0.0), static_cast<double>(n));
    }
}

TEST(Tome, NothingToMergeIsIdentity) {
    const std::vector<float> sizes = {1, 2, 1};
    const auto plan = tome_step(cosines(random_numbers(6, 1), 2).view(), false, 0, sizes);
    EXPECT_FALSE(plan->merges());
    EXPECT_EQ(plan->kept, (std::vector<TokenIndex>{0, 1, 2}));
    EXPECT_EQ(plan->sizes, sizes);
}

TEST(Tome, RefusesMoreThanHalfAndBadSizes) {
    const Cosines gram = cosines(random_numbers(14, 1), 2);
    std::vector<float> sizes(7, 1.0F);
    EXPECT_EQ(tome_step(gram.view(), true, 4, sizes).status().message(),
              "of 7 tokens at most 3 can be merged away, not 4");
    EXPECT_TRUE(tome_step(gram.view(), true, 3, sizes).ok());
    sizes[5] = 0.0F;
    EXPECT_FALSE(tome_step(gram.view(), true, 3, sizes).ok());
}

TEST(SpreadOverBlocks, IsEvenAndExact) {
    const auto left = spread_over_blocks(576, 192, 23, true);
    ASSERT_TRUE(left.ok());
    std::size_t before = 576;
    std::size_t n_sixteen = 0;
    std::size_t n_seventeen = 0;
    for (const std::size_t after : *left) {
        n_sixteen += before - after == 16 ? 1 : 0;
        n_seventeen += before - after == 17 ? 1 : 0;
        before = after;
    }
    EXPECT_EQ(before, 192U);
    EXPECT_EQ(n_sixteen, 7U);
    EXPECT_EQ(n_seventeen, 16U);
}

TEST(SpreadOverBlocks, NeverMoreThanHalvesAndEndsAtTheBudget) {
    for (const std::size_t n_blocks : {1U, 2U, 5U, 11U, 23U}) {
        for (std::size_t keep = 1; keep <= 64; ++keep) {
            const auto left = spread_over_blocks(64, keep, n_blocks, true);
            std::size_t smallest = 64;
            for (std::size_t b = 0; b < n_blocks; ++b) smallest = (smallest + 1) / 2;
            ASSERT_EQ(left.ok(), keep >= smallest);
            if (!left.ok()) continue;
            std::size_t before = 64;
            for (const std::size_t after : *left) {
                EXPECT_LE(after, before);
                EXPECT_GE(after, (before + 1) / 2);
                before = after;
            }
            EXPECT_EQ(before, keep);
        }
    }
}

TEST(SpreadOverBlocks, SaysWhatIsPossible) {
    EXPECT_EQ(spread_over_blocks(64, 10, 2, true).status().message(),
              "merging in 2 blocks leaves at least 16 of 64 patches, so the budget cannot be 10");
    EXPECT_EQ(*spread_over_blocks(64, 1, 2, false), (std::vector<std::size_t>{33, 1}));
}

}  // namespace
}  // namespace clasp::methods
