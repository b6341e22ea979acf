#include "select/schedule_solve.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "select/schedule_published.h"

namespace clasp::scheduling {
namespace {

using Counts = std::vector<std::size_t>;

double as_double(std::size_t value) {
    return static_cast<double>(value);
}

struct Knot {
    double share;
    std::array<double, 3> keep;
};

constexpr std::array<Knot, 5> shape_knots() {
    std::array<Knot, 5> knots{};
    knots[0] = {0.0, {0.0, 0.0, 0.0}};
    for (std::size_t i = 0; i < kPublished.size(); ++i) {
        constexpr auto kVisual = static_cast<double>(kPublishedVisual);
        knots[i + 1].share = static_cast<double>(kPublished[i].budget) / kVisual;
        for (std::size_t s = 0; s < 3; ++s) {
            knots[i + 1].keep[s] = static_cast<double>(kPublished[i].keep[s]) / kVisual;
        }
    }
    knots[4] = {1.0, {1.0, 1.0, 1.0}};
    return knots;
}

// Real counts: the shape times a common factor, held between 1 and all tokens. The sum over layers rises
// with the factor, so bisection finds the factor that meets the budget.
std::vector<double> solve_real(const SolveProblem& p, double target) {
    const std::vector<double> shape =
        p.shape.empty() ? keep_shape(p.budget / as_double(p.n_visual), p.spans.size()) : p.shape;
    const double all = as_double(p.n_visual);
    const auto count = [&](std::size_t s, double factor) {
        return std::clamp(factor * shape[s] * all, 1.0, all);
    };
    double low = 0.0;
    double high = 1.0 / shape.back();
    for (int step = 0; step < 80; ++step) {
        const double factor = 0.5 * (low + high);
        double sum = 0.0;
        for (std::size_t s = 0; s < shape.size(); ++s) sum += as_double(p.spans[s]) * count(s, factor);
        (sum < target ? low : high) = factor;
    }
    std::vector<double> counts(shape.size());
    for (std::size_t s = 0; s < shape.size(); ++s) counts[s] = count(s, high);
    return counts;
}

// Whole counts near the real ones: all combinations in a window around two stages, while a third, the one
// with the shortest span, takes up the rest. Any further stage is simply rounded.
class WholeSearch {
   public:
    WholeSearch(const SolveProblem& problem, std::vector<double> real, double target)
        : problem_(problem), real_(std::move(real)), target_(target), counts_(real_.size()) {
        for (std::size_t s = 0; s < real_.size(); ++s) {
            counts_[s] = static_cast<std::size_t>(std::llround(real_[s]));
        }
        free_.resize(real_.size());
        std::iota(free_.begin(), free_.end(), std::size_t{0});
        std::stable_sort(free_.begin(), free_.end(),
                         [&](std::size_t a, std::size_t b) { return problem_.spans[a] < problem_.spans[b]; });
        if (free_.size() > 3) free_.resize(3);
        rounded_ = counts_;
    }

    Counts run(std::int64_t window) {
        best_cost_ = std::numeric_limits<double>::infinity();
        vary(1, window);
        CLASP_CHECK(!best_.empty());
        return best_;
    }

   private:
    void vary(std::size_t depth, std::int64_t window) {
        if (depth >= free_.size()) {
            take_up_rest();
            return;
        }
        const std::size_t s = free_[depth];
        const auto centre = static_cast<std::int64_t>(rounded_[s]);
        const std::int64_t first = std::max<std::int64_t>(1, centre - window);
        const std::int64_t last = std::min(static_cast<std::int64_t>(problem_.n_visual), centre + window);
        for (std::int64_t k = first; k <= last; ++k) {
            counts_[s] = static_cast<std::size_t>(k);
            vary(depth + 1, window);
        }
    }

    void take_up_rest() {
        const std::size_t s = free_[0];
        const std::size_t high = s == 0 ? problem_.n_visual : counts_[s - 1];
        const std::size_t low = s + 1 == counts_.size() ? 1 : counts_[s + 1];
        if (low > high) return;
        double rest = target_;
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            if (i == s) continue;
            if (i > 0 && i - 1 != s && counts_[i] > counts_[i - 1]) return;
            rest -= as_double(problem_.spans[i] * counts_[i]);
        }
        const double ideal = std::floor(rest / as_double(problem_.spans[s]));
        for (const double k : {ideal, ideal + 1.0}) {
            counts_[s] = static_cast<std::size_t>(std::clamp(k, as_double(low), as_double(high)));
            weigh(rest - as_double(problem_.spans[s] * counts_[s]));
        }
    }

    // First within the tolerance, then near the target, then near the shape.
    void weigh(double error) {
        const double tolerance = kSolveTolerance * problem_.budget * as_double(problem_.n_layers());
        constexpr double kErrorWeight = 64.0;
        constexpr double kOutside = 1e12;
        double cost = kErrorWeight * std::abs(error);
        if (std::abs(error) > tolerance) cost = kOutside * (1.0 + std::abs(error));
        for (std::size_t s = 0; s < counts_.size() && cost < best_cost_; ++s) {
            cost += as_double(problem_.spans[s]) * std::abs(as_double(counts_[s]) - real_[s]);
        }
        if (cost >= best_cost_) return;
        best_cost_ = cost;
        best_ = counts_;
    }

    const SolveProblem& problem_;
    std::vector<double> real_;
    double target_;
    Counts counts_;
    Counts rounded_;
    std::vector<std::size_t> free_;  // stages that may move, shortest span first
    double best_cost_ = 0.0;
    Counts best_;
};

}  // namespace

std::size_t SolveProblem::n_layers() const {
    return std::accumulate(spans.begin(), spans.end(), n_full_layers);
}

double SolveProblem::smallest_budget() const {
    return average(Counts(spans.size(), 1));
}

double SolveProblem::average(const Counts& counts) const {
    std::size_t sum = n_full_layers * n_visual;
    for (std::size_t s = 0; s < counts.size(); ++s) sum += spans[s] * counts[s];
    return as_double(sum) / as_double(n_layers());
}

std::vector<double> keep_shape(double budget_share, std::size_t n_stages) {
    static constexpr std::array<Knot, 5> kKnots = shape_knots();
    std::size_t upper = 1;
    while (upper + 1 < kKnots.size() && budget_share > kKnots[upper].share) ++upper;
    const Knot& a = kKnots[upper - 1];
    const Knot& b = kKnots[upper];
    const double along = (budget_share - a.share) / (b.share - a.share);
    std::array<double, 3> keep{};
    for (std::size_t s = 0; s < 3; ++s) keep[s] = a.keep[s] + along * (b.keep[s] - a.keep[s]);
    // Other numbers of stages read the same curve at evenly spaced points.
    std::vector<double> shape(n_stages);
    for (std::size_t s = 0; s < n_stages; ++s) {
        const double at = n_stages == 1 ? 1.0 : 2.0 * as_double(s) / as_double(n_stages - 1);
        const auto below = std::min<std::size_t>(1, static_cast<std::size_t>(at));
        shape[s] = std::lerp(keep[below], keep[below + 1], at - as_double(below));
    }
    return shape;
}

std::vector<std::size_t> solve_counts(const SolveProblem& problem) {
    const double target = problem.budget * as_double(problem.n_layers()) -
                          as_double(problem.n_full_layers) * as_double(problem.n_visual);
    WholeSearch search(problem, solve_real(problem, target), target);
    // The narrow window nearly always holds a combination inside the tolerance. Small budgets, where one
    // token in one layer is already more than that, may need a wider look.
    constexpr std::int64_t kNarrow = 12;
    constexpr std::int64_t kWide = 200;
    Counts counts = search.run(kNarrow);
    if (std::abs(problem.average(counts) - problem.budget) > kSolveTolerance * problem.budget) {
        counts = search.run(kWide);
    }
    return counts;
}

}  // namespace clasp::scheduling
