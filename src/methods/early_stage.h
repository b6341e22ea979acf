// Budgets below what the layers before a method's first stage already cost.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "methods/method.h"

namespace clasp::methods {

// Moves the first layer that runs on fewer tokens forward, to 1 at the earliest, until the layers before it
// take at most 19 of 20 parts of an average budget. Returns a sentence for the user if it moved, else
// nothing.
inline std::string bring_forward(const Setup& setup, std::string_view method, std::size_t& first_layer) {
    if (setup.budget.kind != BudgetKind::Average || !setup.stages.empty()) return {};
    const std::size_t published = first_layer;
    const auto costs_too_much = [&] {
        const double average =
            static_cast<double>(setup.n_visual * first_layer) / static_cast<double>(setup.n_layers);
        return average > 0.95 * setup.budget.tokens;
    };
    while (first_layer > 1 && costs_too_much()) --first_layer;
    if (first_layer == published) return {};
    return std::string(method) + " drops tokens from layer " + std::to_string(first_layer) +
           " on instead of " + std::to_string(published) + ", because the budget cannot be met otherwise";
}

}  // namespace clasp::methods
