// Counts for a budget that the paper does not list. Private to the schedule.
#pragma once

#include <cstddef>
#include <vector>

namespace clasp::scheduling {

struct SolveProblem {
    std::size_t n_visual = 0;
    std::size_t n_full_layers = 0;   // layers that process all visual tokens
    std::vector<std::size_t> spans;  // layers that process each stage's count; none is 0
    double budget = 0.0;
    std::vector<double> shape;  // proportions of the counts, at most 1 and never rising; empty: keep_shape()

    [[nodiscard]] std::size_t n_layers() const;
    // The average when every stage keeps one token.
    [[nodiscard]] double smallest_budget() const;
    [[nodiscard]] double average(const std::vector<std::size_t>& counts) const;
};

// How far an average may be from the budget, relative to the budget.
inline constexpr double kSolveTolerance = 0.01;

// Shares of the visual tokens at each of n_stages, for a budget that is the given share of them.
// Piecewise linear through the published schedules, 0 at 0 and 1 at 1; never rising from stage to stage.
std::vector<double> keep_shape(double budget_share, std::size_t n_stages);

// Counts of at least 1, never rising, whose average is the budget within kSolveTolerance, or as near as
// whole tokens allow. The budget must lie between smallest_budget() and n_visual.
std::vector<std::size_t> solve_counts(const SolveProblem& problem);

}  // namespace clasp::scheduling
