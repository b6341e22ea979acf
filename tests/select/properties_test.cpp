// What the paper proves about the selection, checked on what the core returns.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "clasp/select.h"
#include "select/cases.h"
#include "select/reference.h"

namespace clasp {
namespace {

using testing::Case;
using testing::dot;
using testing::Kind;
using testing::make_case;
using testing::make_features;
using testing::reference_select;
using testing::unit_rows;

// Calls check(case, plan) on cases in which something is chosen.
template <typename Check>
void for_cases(int n_cases, unsigned seed, Check check) {
    std::mt19937 random(seed);
    SelectWorkspace workspace;
    SelectPlan plan;
    for (int i = 0; i < n_cases; ++i) {
        const Case sample = make_case(static_cast<Kind>(i % 4), 30, random);
        ASSERT_TRUE(select(sample.input(), sample.options, workspace, nullptr, plan).ok());
        if (sample.options.budget < sample.n_live()) check(sample, plan);
    }
}

TokenIndex token_at(const Case& sample, std::size_t position) {
    return sample.live.empty() ? static_cast<TokenIndex>(position) : sample.live[position];
}

bool contains(const std::vector<TokenIndex>& rising, TokenIndex token) {
    return std::binary_search(rising.begin(), rising.end(), token);
}

// Pivot-relative redundancy of every candidate (Eq. app-redundancy); there are pivots.
std::vector<std::pair<TokenIndex, double>> redundancies(const Case& sample, const SelectPlan& plan) {
    const auto rows = unit_rows(sample.features, sample.width);
    std::vector<std::pair<TokenIndex, double>> result;
    for (std::size_t i = 0; i < sample.n_live(); ++i) {
        const TokenIndex token = token_at(sample, i);
        if (contains(plan.pivots, token)) continue;
        double largest = -2;
        for (const TokenIndex pivot : plan.pivots) largest = std::max(largest, dot(rows[token], rows[pivot]));
        result.emplace_back(token, largest);
    }
    return result;
}

TEST(Paper, TopK1MaximisesTheTotalRelevanceOfThePivots) {
    for_cases(2000, 31, [](const Case& sample, const SelectPlan& plan) {
        std::vector<float> sorted = sample.scores;
        std::sort(sorted.begin(), sorted.end(), std::greater<>());
        const double best = std::accumulate(
            sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(plan.pivots.size()), 0.0);
        double total = 0;
        for (std::size_t i = 0; i < sample.n_live(); ++i) {
            if (contains(plan.pivots, token_at(sample, i))) total += static_cast<double>(sample.scores[i]);
        }
        ASSERT_NEAR(total, best, 1e-9);
    });
}

TEST(Paper, PropositionSeedOptBottomK2MinimisesTheTotalSeedRedundancy) {
    for_cases(2000, 32, [](const Case& sample, const SelectPlan& plan) {
        if (plan.pivots.empty()) return;
        std::vector<double> costs;
        double total = 0;
        for (const auto& [token, cost] : redundancies(sample, plan)) {
            costs.push_back(cost);
            if (contains(plan.seeds, token)) total += cost;
        }
        std::sort(costs.begin(), costs.end());
        const double best = std::accumulate(
            costs.begin(), costs.begin() + static_cast<std::ptrdiff_t>(plan.seeds.size()), 0.0);
        ASSERT_NEAR(total, best, 2e-6 * static_cast<double>(plan.seeds.size() + 1));
    });
}

TEST(Paper, PropositionKmeansMonoTheObjectiveNeverFalls) {
    for_cases(2000, 33, [](const Case& sample, const SelectPlan& plan) {
        if (plan.objective.empty()) return;
        const double start =
            reference_select(
                sample.features, sample.width, sample.live, sample.scores,
                {.budget = sample.options.budget, .split = sample.options.split, .iterations = 1})
                .start_objective;
        const double slack = 4e-6 * static_cast<double>(sample.n_live());
        ASSERT_GE(plan.objective[0], start - slack);
        for (std::size_t r = 1; r < plan.objective.size(); ++r) {
            ASSERT_GE(plan.objective[r], plan.objective[r - 1] - slack);
        }
        ASSERT_LE(plan.objective.back(), static_cast<double>(sample.n_live()) + slack);
    });
}

TEST(Paper, LemmaCosEuclidDistanceFollowsFromTheCosine) {
    std::mt19937 random(34);
    const std::size_t n = 40;
    const std::size_t width = 7;
    const std::vector<float> features = make_features(Kind::Clustered, n, width, random);
    const auto rows = unit_rows(features, width);
    std::vector<float> matrix(n * n);
    SelectWorkspace workspace;
    ASSERT_TRUE(gram({features.data(), n, width, width}, workspace, nullptr, matrix.data(), n).ok());
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            double squared_distance = 0;
            for (std::size_t k = 0; k < width; ++k) {
                squared_distance += (rows[i][k] - rows[j][k]) * (rows[i][k] - rows[j][k]);
            }
            ASSERT_NEAR(squared_distance, 2 * (1 - static_cast<double>(matrix[i * n + j])), 2e-6);
        }
    }
}

TEST(Paper, CorollarySeparationSeedsKeepTheirDistanceFromPivots) {
    for_cases(2000, 35, [](const Case& sample, const SelectPlan& plan) {
        if (plan.pivots.empty() || plan.seeds.empty()) return;
        const auto rows = unit_rows(sample.features, sample.width);
        std::vector<double> costs;
        for (const auto& entry : redundancies(sample, plan)) costs.push_back(entry.second);
        std::sort(costs.begin(), costs.end());
        const double threshold = costs[plan.seeds.size() - 1];  // the K2-th smallest redundancy
        for (const TokenIndex seed : plan.seeds) {
            for (const TokenIndex pivot : plan.pivots) {
                const double cosine = dot(rows[seed], rows[pivot]);
                ASSERT_LE(cosine, threshold + 2e-6);
                const double lengths = dot(rows[seed], rows[seed]) + dot(rows[pivot], rows[pivot]);
                if (lengths < 1.5) continue;  // a zero vector is not on the sphere
                const double distance = std::sqrt(std::max(0.0, lengths - 2 * cosine));
                ASSERT_GE(distance * distance, 2 * (1 - threshold) - 4e-6);
            }
        }
    });
}

}  // namespace
}  // namespace clasp
