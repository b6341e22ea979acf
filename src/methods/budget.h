// Budgets of methods: the three meanings of "R tokens", and counts that meet one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "clasp/schedule.h"
#include "clasp/status.h"

namespace clasp::methods {

enum class BudgetKind : std::uint8_t {
    Average,   // visual tokens per decoder layer on average
    Entering,  // visual tokens that decoder layer 0 processes
    Final,     // visual tokens after the last stage
};
Result<BudgetKind> parse_budget_kind(std::string_view name);

struct Budget {
    double tokens = 0.0;
    BudgetKind kind = BudgetKind::Average;
};

// Tokens that enter the decoder under a method that has no decoder stages: all three meanings are the
// same. Error: below 1.
Result<std::size_t> entering_count(const Budget& budget, std::string_view method);

// Where tokens leave inside the decoder and in which proportion.
struct StageShape {
    std::size_t layer = 0;    // first layer that runs on fewer tokens
    double proportion = 0.0;  // of the count there, relative to the other stages; 0: all leave
};

// Counts of the stages, in proportion (never above what is left, so early stages may be cut), such that
// the budget is met with n_visual tokens before the first stage: Average within half a token times the
// share of the layers, Final by the last proportion that is not 0. Errors (invalid_argument, naming the
// method and the smallest or largest possible budget): Entering, because all tokens enter; an average
// below what the layers before the first stage cost; a stage beyond the last layer.
Result<std::vector<std::size_t>> solve_stage_counts(std::size_t n_visual, std::size_t n_layers,
                                                    std::span<const StageShape> shapes, const Budget& budget,
                                                    std::string_view method);

// Mean over the layers of the visual tokens processed: n_visual before the first stage.
double layer_average(std::size_t n_visual, std::size_t n_layers, std::span<const StageShape> shapes,
                     std::span<const std::size_t> counts);

// A layer of the 32-layer decoder that the authors used, at the same relative depth of another, at least
// `least` and at most n_layers - 1.
std::size_t scaled_layer(std::size_t layer, std::size_t n_layers, std::size_t least = 1);

}  // namespace clasp::methods
