#include "methods/ficoco_v.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "token_case.h"

namespace clasp::methods {
namespace {

using namespace testing;

struct Block {
    std::vector<float> logits;
    std::vector<float> class_logits;
    std::vector<TokenIndex> origins;
    std::size_t rows = 0;
    std::size_t columns = 0;

    [[nodiscard]] FicocoInput input() const {
        return {logits.data(), origins.size(), class_logits, origins, rows, columns};
    }
};

Block random_block(std::size_t rows, std::size_t columns, unsigned seed) {
    Block block;
    block.rows = rows;
    block.columns = columns;
    // Some patches are gone already.
    for (TokenIndex i = 0; i < rows * columns; ++i) {
        if (i % 5 != 3) block.origins.push_back(i);
    }
    block.logits = random_numbers(block.origins.size() * block.origins.size(), seed);
    block.class_logits = random_numbers(block.origins.size(), seed + 1);
    return block;
}

// Steps 1 to 6 on plain vectors.
Rows reference(const Block& block, const Rows& features, std::size_t n_removed, bool is_paper, double q) {
    const std::size_t n = block.origins.size();
    const auto logit = [&](std::size_t i, std::size_t j) {
        return static_cast<double>(block.logits[i * n + j]);
    };
    Row u(n, 0.0);
    Row c(n);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) u[i] += is_paper ? logit(j, i) : logit(i, j);
        u[i] /= static_cast<double>(n);
        c[i] = static_cast<double>(block.class_logits[i]);
    }
    Row s(n);
    const double beta = is_paper ? 0.65 : 0.35;
    for (std::size_t i = 0; i < n; ++i) {
        s[i] = beta * c[i] / std::sqrt(dot(c, c)) - (1 - beta) * u[i] / std::sqrt(dot(u, u));
    }
    Row penalised = s;
    for (std::size_t row = 0; row < block.rows; row += 2) {
        for (std::size_t column = 0; column < block.columns; column += 2) {
            std::size_t lowest = n;
            for (std::size_t i = 0; i < n; ++i) {
                const std::size_t r = block.origins[i] / block.columns;
                const std::size_t k = block.origins[i] % block.columns;
                const bool is_inside = r / 2 == row / 2 && k / 2 == column / 2;
                if (is_inside && (lowest == n || s[i] < s[lowest])) lowest = i;
            }
            if (lowest < n) penalised[lowest] = s[lowest] > 0 ? s[lowest] / 2 : s[lowest] * 2;
        }
    }
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return penalised[a] < penalised[b]; });
    std::vector<bool> is_source(n, false);
    for (std::size_t k = 0; k < n_removed; ++k) is_source[order[k]] = true;

    Rows sums = features;
    Row totals(n, 1.0);
    for (std::size_t i = 0; i < n; ++i) {
        if (!is_source[i]) continue;
        Row sorted;
        for (std::size_t j = 0; j < n; ++j) sorted.push_back(logit(i, j));
        std::sort(sorted.begin(), sorted.end());
        const double position = q * static_cast<double>(n - 1);
        const auto below = static_cast<std::size_t>(position);
        const double threshold = sorted[below] + (position - static_cast<double>(below)) *
                                                     (sorted[std::min(below + 1, n - 1)] - sorted[below]);
        double total = 0;
        for (std::size_t j = 0; j < n; ++j) {
            if (!is_source[j] && logit(i, j) > threshold) total += std::exp(logit(i, j));
        }
        for (std::size_t j = 0; j < n; ++j) {
            if (is_source[j] || logit(i, j) <= threshold) continue;
            add(sums[j], std::exp(logit(i, j)) / total, features[i]);
            totals[j] += std::exp(logit(i, j)) / total;
        }
    }
    Rows out;
    for (std::size_t j = 0; j < n; ++j) {
        if (is_source[j]) continue;
        for (double& value : sums[j]) value /= totals[j];
        out.push_back(sums[j]);
    }
    return out;
}

TEST(FicocoV, AgreesWithTheStepsOnPlainVectors) {
    for (unsigned seed = 0; seed < 20; ++seed) {
        const Block block = random_block(7, 6, 3 * seed);
        const std::vector<float> features = random_numbers(block.origins.size() * 5, seed + 500);
        for (const bool is_paper : {false, true}) {
            for (const double q : {0.9, 0.998}) {
                FicocoOptions options;
                options.faithful = is_paper ? FicocoFaithful::Paper : FicocoFaithful::Code;
                options.target_quantile = q;
                const auto plan = ficoco_step(block.input(), 9, options);
                ASSERT_TRUE(plan.ok()) << plan.status().message();
                expect_near(applied(*plan, as_rows(features, 5)),
                            reference(block, as_rows(features, 5), 9, is_paper, q));
            }
        }
    }
}

TEST(FicocoV, WeightsOfEveryTokenAddUpToOneAndOrderStays) {
    const Block block = random_block(8, 8, 2);
    FicocoOptions options;
    options.target_quantile = 0.8;
    const auto plan = ficoco_step(block.input(), 20, options);
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(plan->size(), block.origins.size() - 20);
    EXPECT_TRUE(std::is_sorted(plan->kept.begin(), plan->kept.end()));
    for (std::size_t i = 0; i < plan->size(); ++i) {
        EXPECT_NEAR(total_weight(*plan, i), 1.0, 1e-5);
    }
}

TEST(FicocoV, APatchTheClassTokenAttendsToStays) {
    Block block = random_block(6, 6, 4);
    std::fill(block.class_logits.begin(), block.class_logits.end(), -1.0F);
    block.class_logits[11] = 20.0F;
    const auto plan = ficoco_step(block.input(), block.origins.size() - 1, {});
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(plan->kept, (std::vector<TokenIndex>{11}));
}

TEST(FicocoV, RefusesBadInput) {
    Block block = random_block(4, 4, 5);
    EXPECT_FALSE(ficoco_step(block.input(), block.origins.size(), {}).ok());
    EXPECT_FALSE(ficoco_step(block.input(), 2, {.window = 0}).ok());
    EXPECT_FALSE(ficoco_step(block.input(), 2, {.target_quantile = 1.5}).ok());
    Block disordered = block;
    std::swap(disordered.origins[0], disordered.origins[1]);
    EXPECT_FALSE(ficoco_step(disordered.input(), 2, {}).ok());
    block.logits[block.origins.size() * 3 + 1] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(ficoco_step(block.input(), 2, {}).status().message(),
              "the logit of token 1 is NaN or infinity");
}

}  // namespace
}  // namespace clasp::methods
