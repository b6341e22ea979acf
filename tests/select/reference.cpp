#include "select/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace clasp::testing {
namespace {

using Vector = std::vector<double>;

// What differs by less than this in double precision is equal on paper.
constexpr double kEqual = 1e-12;

double length(const Vector& v) {
    return std::sqrt(dot(v, v));
}

// Eq. kmeans-update for one cluster. A mean shorter than 1/1000 has no direction: the centre stays.
void update_centre(const std::vector<Vector>& points, const std::vector<std::size_t>& members, Vector& centre,
                   ReferencePlan& plan) {
    if (members.empty()) return;
    Vector sum(centre.size(), 0.0);
    for (const std::size_t t : members) {
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += points[t][i];
    }
    const double mean_length = length(sum) / static_cast<double>(members.size());
    if (mean_length > kEqual) plan.gap = std::min(plan.gap, std::abs(mean_length - 1e-3));
    if (mean_length <= 1e-3) return;
    const double norm = length(sum);
    for (double& value : sum) value /= norm;
    centre = sum;
}

struct Argmax {
    std::size_t index = 0;
    double value = 0;
};

// The largest of f(0) ... f(n - 1), the first among equals; notes the distance to the largest that is
// not equal.
template <typename F>
Argmax argmax(std::size_t n, F f, ReferencePlan& plan) {
    std::vector<double> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = f(i);
    const double largest = *std::max_element(values.begin(), values.end());
    Argmax best = {n, largest};
    for (std::size_t i = 0; i < n; ++i) {
        if (values[i] < largest - kEqual) {
            plan.gap = std::min(plan.gap, largest - values[i]);
        } else if (best.index == n) {
            best.index = i;
        } else {
            plan.has_tie = true;
        }
    }
    return best;
}

double objective(const std::vector<Vector>& points, const std::vector<Vector>& centres) {
    double sum = 0;
    for (const Vector& point : points) {
        double best = -std::numeric_limits<double>::infinity();
        for (const Vector& centre : centres) best = std::max(best, dot(point, centre));
        sum += best;
    }
    return sum;
}

// Eq. redundancy-inst, or the cosine to the mean direction if there are no pivots.
std::vector<double> redundancy(const std::vector<Vector>& candidates, const std::vector<Vector>& pivots,
                               ReferencePlan& plan) {
    std::vector<double> result;
    if (pivots.empty()) {
        Vector mean(candidates[0].size(), 0.0);
        std::vector<std::size_t> all(candidates.size());
        std::iota(all.begin(), all.end(), 0U);
        update_centre(candidates, all, mean, plan);
        for (const Vector& candidate : candidates) result.push_back(dot(candidate, mean));
        return result;
    }
    for (const Vector& candidate : candidates) {
        double largest = -1e300;
        for (const Vector& pivot : pivots) largest = std::max(largest, dot(candidate, pivot));
        result.push_back(largest);
    }
    return result;
}

// Positions of the count smallest values, rising.
std::vector<std::size_t> smallest(std::vector<double> values, std::size_t count, ReferencePlan* plan) {
    for (double& value : values) value = std::round(value / kEqual) * kEqual;
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return values[a] < values[b]; });
    if (plan != nullptr && count > 0 && count < order.size()) {
        const double difference = values[order[count]] - values[order[count - 1]];
        plan->has_tie = plan->has_tie || difference <= 0;
        if (difference > 0) plan->gap = std::min(plan->gap, difference);
    }
    order.resize(count);
    std::sort(order.begin(), order.end());
    return order;
}

// Eqs. kmeans-assign to diverse-q, then the filling of missing slots. Returns positions in points.
std::vector<std::size_t> cover(const std::vector<Vector>& points, const std::vector<Vector>& pivots,
                               const std::vector<std::size_t>& seeds, std::uint32_t iterations,
                               ReferencePlan& plan) {
    if (iterations == 0) return seeds;
    std::vector<Vector> centres;
    for (const std::size_t seed : seeds) centres.push_back(points[seed]);
    plan.start_objective = objective(points, centres);
    std::vector<std::vector<std::size_t>> members;
    std::vector<std::vector<std::size_t>> previous;
    for (std::uint32_t iteration = 0; iteration < iterations; ++iteration) {
        members.assign(centres.size(), {});
        for (std::size_t t = 0; t < points.size(); ++t) {
            const auto similarity = [&](std::size_t k) { return dot(points[t], centres[k]); };
            members[argmax(centres.size(), similarity, plan).index].push_back(t);
        }
        for (std::size_t k = 0; k < centres.size(); ++k) update_centre(points, members[k], centres[k], plan);
        plan.objective.push_back(objective(points, centres));
        if (members == previous) break;
        previous = members;
    }
    std::vector<std::size_t> chosen;
    for (std::size_t k = 0; k < centres.size(); ++k) {
        if (members[k].empty()) continue;
        const auto similarity = [&](std::size_t m) { return dot(points[members[k][m]], centres[k]); };
        chosen.push_back(members[k][argmax(members[k].size(), similarity, plan).index]);
    }
    while (chosen.size() < seeds.size()) {
        std::vector<std::size_t> unchosen;
        for (std::size_t t = 0; t < points.size(); ++t) {
            if (std::find(chosen.begin(), chosen.end(), t) == chosen.end()) unchosen.push_back(t);
        }
        const auto distance = [&](std::size_t i) {
            double nearest = -1e300;
            for (const Vector& pivot : pivots) nearest = std::max(nearest, dot(points[unchosen[i]], pivot));
            for (const std::size_t c : chosen)
                nearest = std::max(nearest, dot(points[unchosen[i]], points[c]));
            return -nearest;
        };
        chosen.push_back(unchosen[argmax(unchosen.size(), distance, plan).index]);
    }
    return chosen;
}

}  // namespace

double dot(const Vector& a, const Vector& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

std::vector<Vector> unit_rows(const std::vector<float>& features, std::size_t width) {
    std::vector<Vector> rows;
    for (std::size_t begin = 0; begin < features.size(); begin += width) {
        Vector row(width);
        for (std::size_t i = 0; i < width; ++i) row[i] = static_cast<double>(features[begin + i]);
        const double norm = length(row);
        if (norm > 0) {
            for (double& value : row) value /= norm;
        }
        rows.push_back(row);
    }
    return rows;
}

ReferencePlan reference_select(const std::vector<float>& features, std::size_t width,
                               const std::vector<TokenIndex>& live, const std::vector<float>& scores,
                               const SelectOptions& options) {
    const std::vector<Vector> all = unit_rows(features, width);
    std::vector<TokenIndex> tokens = live;
    if (tokens.empty()) {
        tokens.resize(all.size());
        std::iota(tokens.begin(), tokens.end(), 0U);
    }
    ReferencePlan plan;
    if (options.budget >= tokens.size()) {
        plan.kept = tokens;
        return plan;
    }
    // Eq. split on paper: splits in these tests have two decimals.
    const auto n_pivots = static_cast<std::size_t>(std::llround(options.split * 100) *
                                                   static_cast<long long>(options.budget) / 100);
    std::vector<double> negated;
    for (const float score : scores) negated.push_back(-static_cast<double>(score));
    std::vector<std::uint8_t> is_pivot(tokens.size(), 0);
    for (const std::size_t i : smallest(negated, n_pivots, nullptr)) is_pivot[i] = 1;

    std::vector<Vector> pivots;
    std::vector<Vector> candidates;
    std::vector<TokenIndex> candidate_tokens;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        (is_pivot[i] != 0 ? pivots : candidates).push_back(all[tokens[i]]);
        (is_pivot[i] != 0 ? plan.pivots : candidate_tokens).push_back(tokens[i]);
    }
    const std::size_t n_coverage = options.budget - n_pivots;
    if (n_coverage > 0) {
        const std::vector<double> costs = redundancy(candidates, pivots, plan);
        const std::vector<std::size_t> seeds = smallest(costs, n_coverage, &plan);
        for (const std::size_t seed : seeds) plan.seeds.push_back(candidate_tokens[seed]);
        for (const std::size_t t : cover(candidates, pivots, seeds, options.iterations, plan)) {
            plan.coverage.push_back(candidate_tokens[t]);
        }
    }
    std::sort(plan.coverage.begin(), plan.coverage.end());
    plan.kept = plan.pivots;
    plan.kept.insert(plan.kept.end(), plan.coverage.begin(), plan.coverage.end());
    std::sort(plan.kept.begin(), plan.kept.end());
    return plan;
}

}  // namespace clasp::testing
