// The paper's ablations as presets: each is a list of variants that differ in one thing.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/policy.h"
#include "clasp/status.h"
#include "eval/variant.h"

namespace clasp::eval {

// What a preset starts from.
struct AblationBase {
    Policy policy;
    std::string method = "clasp";
    std::vector<std::string> budgets = {"192"};
    std::size_t n_vision_layers = 24;  // layers that a mix may name
    std::size_t feature_layer = 22;    // what the original model projects
};

struct Ablation {
    std::string_view name;
    std::string_view summary;  // one line
    bool is_heat_map = false;  // the question is which value suits which class
    std::vector<Variant> (*variants)(const AblationBase& base) = nullptr;
    std::span<const std::string_view> varies = {};  // options of eval that its rows differ in
};

std::span<const Ablation> ablations();
// Not_found names the ones there are.
Result<const Ablation*> find_ablation(std::string_view name);

// A layer of the paper's 24-block tower in a tower whose feature layer is another: scaled by the two feature
// layers, at most the last layer there is.
std::size_t scaled_layer(std::size_t layer, const AblationBase& base);

}  // namespace clasp::eval
