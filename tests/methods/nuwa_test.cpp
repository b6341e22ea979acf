#include "methods/nuwa.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "token_case.h"

namespace clasp::methods {
namespace {

using namespace testing;

// Steps 1 to 6 on plain vectors; the grid has even sides.
Rows reference(const Rows& features, const Rows& means, const std::vector<float>& scores, std::size_t rows,
               std::size_t columns, std::size_t keep, std::size_t per_cell) {
    std::vector<float> candidates(scores.size(), -1.0F);
    for (std::size_t row = 0; row < rows; row += 2) {
        for (std::size_t column = 0; column < columns; column += 2) {
            const std::size_t first = row * columns + column;
            const std::vector<std::size_t> cell = {first, first + 1, first + columns, first + columns + 1};
            std::vector<float> cell_scores;
            for (const std::size_t patch : cell) cell_scores.push_back(scores[patch]);
            const std::vector<TokenIndex> order = by_score(cell_scores);
            for (std::size_t k = 0; k < per_cell; ++k) candidates[cell[order[k]]] = cell_scores[order[k]];
        }
    }
    std::vector<TokenIndex> anchors = by_score(candidates);
    anchors.resize(keep);
    std::sort(anchors.begin(), anchors.end());
    Row sorted;
    for (const TokenIndex anchor : anchors) sorted.push_back(static_cast<double>(scores[anchor]));
    std::sort(sorted.begin(), sorted.end());
    const double position = 0.55 * static_cast<double>(keep - 1);
    const auto below = static_cast<std::size_t>(position);
    const double pillar = sorted[below] + (position - static_cast<double>(below)) *
                                              (sorted[std::min(below + 1, keep - 1)] - sorted[below]);
    const double side = static_cast<double>(rows * rows + columns * columns) / 1152.0;
    Rows out;
    for (const TokenIndex i : anchors) {
        if (static_cast<double>(scores[i]) >= pillar) {
            out.push_back(features[i]);
            continue;
        }
        Row weights;
        double total = 1e-8;
        for (std::size_t j = 0; j < features.size(); ++j) {
            const double down = static_cast<double>(i / columns) - static_cast<double>(j / columns);
            const double across = static_cast<double>(i % columns) - static_cast<double>(j % columns);
            const double distance = std::sqrt(down * down + across * across) / std::sqrt(280.0 * side);
            weights.push_back(std::max(cosine(means[i], means[j]), 0.0) * (1.0 - std::min(distance, 1.0)));
            total += weights.back();
        }
        for (double& weight : weights) weight /= total;
        weights[i] = 1.0;
        Row token(features[0].size(), 0.0);
        for (std::size_t j = 0; j < features.size(); ++j) add(token, weights[j], features[j]);
        out.push_back(token);
    }
    return out;
}

TEST(Nuwa, AgreesWithTheStepsOnPlainVectors) {
    for (unsigned seed = 0; seed < 10; ++seed) {
        const std::vector<float> features = random_numbers(48 * 5, seed);
        const std::vector<float> means = random_numbers(48 * 4, seed + 20);
        const std::vector<float> scores = random_attention(48, seed + 40);
        const Cosines gram = cosines(means, 4);
        const std::vector<std::pair<std::size_t, std::size_t>> budgets = {{9, 1}, {12, 1}, {13, 2}, {30, 3}};
        for (const auto& [keep, per_cell] : budgets) {
            const auto plan = nuwa({scores, gram.view(), 6, 8}, keep, {});
            ASSERT_TRUE(plan.ok()) << plan.status().message();
            expect_near(applied(*plan, as_rows(features, 5)),
                        reference(as_rows(features, 5), as_rows(means, 4), scores, 6, 8, keep, per_cell));
        }
    }
}

TEST(Nuwa, TakesAsManyPerCellAsPublished) {
    // 336, 224 and 112 of 24 x 24 need 3, 2 and 1 candidates per cell.
    const std::vector<float> scores = random_attention(576, 1);
    const Cosines gram = cosines(random_numbers(576 * 3, 2), 3);
    for (const std::size_t per_cell : {1U, 2U, 3U}) {
        const auto automatic = nuwa({scores, gram.view(), 24, 24}, 112 * per_cell, {});
        const auto given = nuwa({scores, gram.view(), 24, 24}, 112 * per_cell, {.per_cell = per_cell});
        ASSERT_TRUE(automatic.ok());
        ASSERT_TRUE(given.ok());
        EXPECT_EQ(automatic->kept, given->kept);
    }
    EXPECT_EQ(nuwa({scores, gram.view(), 24, 24}, 145, {.per_cell = 1}).status().message(),
              "1 candidates per cell are 144 in all, fewer than the budget of 145");
}

TEST(Nuwa, OddGridsHaveSmallerCellsAtTheEdge) {
    const std::vector<float> scores = random_attention(15, 3);
    const Cosines gram = cosines(random_numbers(15 * 3, 4), 3);
    for (std::size_t keep = 1; keep <= 15; ++keep) {
        const auto plan = nuwa({scores, gram.view(), 3, 5}, keep, {});
        ASSERT_TRUE(plan.ok());
        EXPECT_EQ(plan->size(), keep);
    }
    EXPECT_FALSE(nuwa({scores, gram.view(), 5, 5}, 4, {}).ok());
}

}  // namespace
}  // namespace clasp::methods
