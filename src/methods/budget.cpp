#include "methods/budget.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "base/text.h"

namespace clasp::methods {

namespace {

constexpr std::array<std::pair<BudgetKind, std::string_view>, 3> kKinds = {
    {{BudgetKind::Average, "average"}, {BudgetKind::Entering, "entering"}, {BudgetKind::Final, "final"}}};

// The layers of the 7-billion decoder that most methods were published for.
constexpr std::size_t kPublishedLayers = 32;

Status refuse(std::string_view method, const std::string& why) {
    return {Code::InvalidArgument, "method '" + std::string(method) + "' " + why};
}

// Counts of all stages when proportion 1 means `factor` tokens: no stage above the one before.
std::vector<double> real_counts(double n_visual, std::span<const StageShape> shapes, double factor) {
    std::vector<double> counts;
    double live = n_visual;
    for (const StageShape& shape : shapes) {
        live = std::min(live, shape.proportion * factor);
        counts.push_back(live);
    }
    return counts;
}

double sum_over_layers(double n_visual, std::size_t n_layers, std::span<const StageShape> shapes,
                       std::span<const double> counts) {
    double sum = n_visual * static_cast<double>(shapes.empty() ? n_layers : shapes.front().layer);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        const std::size_t end = i + 1 < shapes.size() ? shapes[i + 1].layer : n_layers;
        sum += counts[i] * static_cast<double>(end - shapes[i].layer);
    }
    return sum;
}

// The factor whose counts sum to `wanted` over the layers; the sum never falls as the factor grows.
double solve_factor(double n_visual, std::size_t n_layers, std::span<const StageShape> shapes,
                    double wanted) {
    double low = 0.0;
    double high = 0.0;
    for (const StageShape& shape : shapes) {
        if (shape.proportion > 0.0) high = std::max(high, n_visual / shape.proportion);
    }
    for (int step = 0; step < 100; ++step) {
        const double middle = 0.5 * (low + high);
        const std::vector<double> counts = real_counts(n_visual, shapes, middle);
        (sum_over_layers(n_visual, n_layers, shapes, counts) < wanted ? low : high) = middle;
    }
    return 0.5 * (low + high);
}

Status check_shapes(std::size_t n_layers, std::span<const StageShape> shapes, std::string_view method) {
    std::size_t previous = 0;
    for (const StageShape& shape : shapes) {
        if (shape.layer >= n_layers || (shape.layer <= previous && &shape != shapes.data())) {
            return refuse(method, "has a stage from layer " + std::to_string(shape.layer) +
                                      " on, which does not fit a decoder of " + std::to_string(n_layers) +
                                      " layers");
        }
        previous = shape.layer;
    }
    return ok_status();
}

}  // namespace

Result<BudgetKind> parse_budget_kind(std::string_view name) {
    for (const auto& [kind, known] : kKinds) {
        if (known == name) return kind;
    }
    return Status(Code::InvalidArgument, "there is no budget kind " + base::in_quotes(name) +
                                             "; there are average, entering, final");
}

Result<std::size_t> entering_count(const Budget& budget, std::string_view method) {
    const double rounded = std::floor(budget.tokens + 0.5);
    if (rounded < 1.0) {
        return refuse(method, "keeps at least one visual token, not " + base::format_number(budget.tokens));
    }
    return static_cast<std::size_t>(rounded);
}

double layer_average(std::size_t n_visual, std::size_t n_layers, std::span<const StageShape> shapes,
                     std::span<const std::size_t> counts) {
    const std::vector<double> real(counts.begin(), counts.end());
    return sum_over_layers(static_cast<double>(n_visual), n_layers, shapes, real) /
           static_cast<double>(n_layers);
}

Result<std::vector<std::size_t>> solve_stage_counts(std::size_t n_visual, std::size_t n_layers,
                                                    std::span<const StageShape> shapes, const Budget& budget,
                                                    std::string_view method) {
    CLASP_RETURN_IF_ERROR(check_shapes(n_layers, shapes, method));
    const auto n = static_cast<double>(n_visual);
    if (budget.kind == BudgetKind::Entering) {
        return refuse(method, "drops tokens inside the decoder, so all " + std::to_string(n_visual) +
                                  " visual tokens enter it; give the budget as average or final");
    }
    double factor = 0.0;
    if (budget.kind == BudgetKind::Final) {
        const auto last = std::find_if(shapes.rbegin(), shapes.rend(),
                                       [](const StageShape& shape) { return shape.proportion > 0.0; });
        if (last == shapes.rend() || last != shapes.rbegin()) {
            return refuse(method, "drops every visual token in the end; give the budget as average");
        }
        factor = budget.tokens / last->proportion;
    } else {
        const auto layers = static_cast<double>(n_layers);
        double least = n * static_cast<double>(shapes.front().layer);
        for (std::size_t i = 0; i < shapes.size(); ++i) {
            const std::size_t end = i + 1 < shapes.size() ? shapes[i + 1].layer : n_layers;
            if (shapes[i].proportion > 0.0) least += static_cast<double>(end - shapes[i].layer);
        }
        if (budget.tokens * layers < least) {
            return refuse(method, "cannot reach an average of " + base::format_number(budget.tokens) +
                                      " visual tokens per layer: its first " +
                                      std::to_string(shapes.front().layer) + " of " +
                                      std::to_string(n_layers) + " layers process all " +
                                      std::to_string(n_visual) + ", so the smallest possible is " +
                                      base::format_number(std::ceil(100.0 * least / layers) / 100.0));
        }
        factor = solve_factor(n, n_layers, shapes, budget.tokens * layers);
    }
    std::vector<std::size_t> counts;
    std::size_t live = n_visual;
    const std::vector<double> real = real_counts(n, shapes, factor);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        const double least = shapes[i].proportion > 0.0 ? 1.0 : 0.0;
        live = std::min(live, static_cast<std::size_t>(std::max(least, std::floor(real[i] + 0.5))));
        counts.push_back(live);
    }
    return counts;
}

std::size_t scaled_layer(std::size_t layer, std::size_t n_layers, std::size_t least) {
    const std::size_t scaled = (layer * n_layers + kPublishedLayers / 2) / kPublishedLayers;
    return std::min(std::max(scaled, least), n_layers - 1);
}

}  // namespace clasp::methods
