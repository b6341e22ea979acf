#include "eval/ablation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>

#include "base/suggest.h"
#include "base/text.h"

namespace clasp::eval {

namespace {

constexpr double kPaperFeatureLayer = 22.0;

struct NamedMix {
    std::string_view name;
    std::vector<LayerWeight> weights;
};

// Mixtures A to E of the paper's layer table, shallow to deep.
std::vector<NamedMix> paper_mixes() {
    return {{"A", {{2, 0.2}, {6, 0.3}, {11, 0.5}}},
            {"B", {{5, 0.2}, {15, 0.3}, {22, 0.5}}},
            {"C", {{12, 0.2}, {15, 0.3}, {19, 0.5}}},
            {"D", {{5, 0.2}, {22, 0.8}}},
            {"E", {{20, 0.2}, {22, 0.8}}}};
}

// Layers that fall together in a shallow tower add their weights.
std::vector<LayerWeight> scaled(const std::vector<LayerWeight>& weights, const AblationBase& base) {
    std::map<std::size_t, double> sums;
    for (const LayerWeight& entry : weights) sums[scaled_layer(entry.layer, base)] += entry.weight;
    std::vector<LayerWeight> result;
    for (const auto& [layer, weight] : sums) result.push_back({layer, weight});
    return result;
}

std::string mix_text(const std::vector<LayerWeight>& weights) {
    std::string text;
    for (const LayerWeight& entry : weights) {
        text += (text.empty() ? "" : " + ") + base::format_number(entry.weight) + " L" +
                std::to_string(entry.layer);
    }
    return text;
}

Policy with_mix(Policy policy, const std::vector<LayerWeight>& weights) {
    for (PolicyClass& entry : policy.classes) {
        entry.weights = weights;
        entry.scores.clear();
    }
    return policy;
}

Policy with_split(Policy policy, double split) {
    for (PolicyClass& entry : policy.classes) entry.split = split;
    return policy;
}

Variant make(const AblationBase& base, const std::string& budget, std::string label, const Policy& policy) {
    Variant variant;
    variant.label = std::move(label);
    variant.method = base.method;
    variant.budget = budget;
    variant.policy = std::make_shared<Policy>(policy);
    return variant;
}

// The unpruned model, then what `add` makes for each budget.
std::vector<Variant> per_budget(
    const AblationBase& base,
    const std::function<void(const std::string& budget, std::vector<Variant>& variants)>& add) {
    std::vector<Variant> variants = {vanilla_variant()};
    variants.front().policy = std::make_shared<Policy>(base.policy);
    for (const std::string& budget : base.budgets) add(budget, variants);
    return variants;
}

std::vector<Variant> components(const AblationBase& base) {
    return per_budget(base, [&](const std::string& budget, std::vector<Variant>& variants) {
        const Policy one_split =
            with_split(base.policy, base.policy.classes[base.policy.default_class].split);
        variants.push_back(make(base, budget, "baseline", one_split));
        variants.back().use_fusion = false;
        variants.push_back(make(base, budget, "+ fusion", one_split));
        variants.push_back(make(base, budget, "+ ratio", base.policy));
        variants.back().use_fusion = false;
        variants.push_back(make(base, budget, "both", base.policy));
    });
}

std::vector<Variant> layers(const AblationBase& base) {
    return per_budget(base, [&](const std::string& budget, std::vector<Variant>& variants) {
        for (const NamedMix& mix : paper_mixes()) {
            const std::vector<LayerWeight> weights = scaled(mix.weights, base);
            variants.push_back(make(base, budget, std::string(mix.name) + ": " + mix_text(weights),
                                    with_mix(base.policy, weights)));
        }
    });
}

std::vector<Variant> splits(const AblationBase& base) {
    return per_budget(base, [&](const std::string& budget, std::vector<Variant>& variants) {
        for (int tenth = 1; tenth <= 10; ++tenth) {
            const double split = tenth / 10.0;
            variants.push_back(
                make(base, budget, "split " + base::format_number(split), with_split(base.policy, split)));
        }
    });
}

std::vector<Variant> iterations(const AblationBase& base) {
    return per_budget(base, [&](const std::string& budget, std::vector<Variant>& variants) {
        for (const std::size_t count : {3U, 5U, 7U, 9U, 11U}) {
            Policy policy = base.policy;
            policy.iterations = count;
            variants.push_back(make(base, budget, std::to_string(count) + " iterations", policy));
        }
    });
}

// Where W starts, without any search from there.
std::vector<Variant> initial_weights(const AblationBase& base) {
    std::vector<LayerWeight> uniform;
    std::vector<LayerWeight> biased;
    const std::size_t n_layers = base.n_vision_layers;
    constexpr double kBias = 0.8;
    for (std::size_t layer = 0; layer < n_layers; ++layer) {
        uniform.push_back({layer, 1.0 / static_cast<double>(n_layers)});
        const double rest = (1.0 - kBias) / static_cast<double>(std::max<std::size_t>(1, n_layers - 1));
        biased.push_back({layer, layer == base.feature_layer ? kBias : rest});
    }
    return per_budget(base, [&](const std::string& budget, std::vector<Variant>& variants) {
        variants.push_back(make(base, budget, "policy", base.policy));
        variants.push_back(
            make(base, budget, "feature layer 0.8, rest uniform", with_mix(base.policy, biased)));
        variants.push_back(make(base, budget, "uniform over layers", with_mix(base.policy, uniform)));
        variants.push_back(
            make(base, budget, "feature layer alone", with_mix(base.policy, {{base.feature_layer, 1.0}})));
    });
}

std::vector<Variant> static_fusion(const AblationBase& base) {
    constexpr double kThird = 1.0 / 3.0;
    const std::vector<LayerWeight> fixed = scaled({{2, kThird}, {17, kThird}, {23, kThird}}, base);
    return per_budget(base, [&](const std::string& budget, std::vector<Variant>& variants) {
        variants.push_back(make(base, budget, "static " + mix_text(fixed), with_mix(base.policy, fixed)));
        variants.push_back(make(base, budget, "adaptive", base.policy));
    });
}

std::vector<Variant> masses(const AblationBase& base) {
    return per_budget(base, [&](const std::string& budget, std::vector<Variant>& variants) {
        for (const std::string_view method : {"clasp", "attention", "random", "uniform"}) {
            for (const MassRule mass : {MassRule::None, MassRule::Nearest}) {
                variants.push_back(make(base, budget,
                                        std::string(method) + ", mass " + std::string(mass_name(mass)),
                                        base.policy));
                variants.back().method = method;
                variants.back().mass = mass;
            }
        }
    });
}

std::vector<Variant> router_robustness(const AblationBase& base) {
    return per_budget(base, [&](const std::string& budget, std::vector<Variant>& variants) {
        variants.push_back(make(base, budget, "as routed", base.policy));
        for (const double ratio : {0.05, 0.2, 0.5, 1.0}) {
            variants.push_back(
                make(base, budget, base::format_number(100.0 * ratio) + " % to Default", base.policy));
            variants.back().stress.default_ratio = ratio;
        }
        for (const double ratio : {0.05, 0.1, 0.2, 0.5, 1.0}) {
            variants.push_back(
                make(base, budget, base::format_number(100.0 * ratio) + " % misrouted", base.policy));
            variants.back().stress.error_ratio = ratio;
        }
    });
}

std::vector<Variant> router_choice(const AblationBase& base) {
    return per_budget(base, [&](const std::string& budget, std::vector<Variant>& variants) {
        for (const auto source : {ClassSource::Classifier, ClassSource::Rules, ClassSource::Truth}) {
            variants.push_back(
                make(base, budget, "classes by " + std::string(class_source_name(source)), base.policy));
            variants.back().classes = source;
        }
    });
}

std::vector<Variant> seeds(const AblationBase& base) {
    return per_budget(base, [&](const std::string& budget, std::vector<Variant>& variants) {
        for (std::uint64_t seed = 42; seed <= 46; ++seed) {
            variants.push_back(make(base, budget, "seed " + std::to_string(seed), base.policy));
            variants.back().select_seed = seed;
        }
    });
}

constexpr std::array<std::string_view, 1> kFusion = {"no-fusion"};
constexpr std::array<std::string_view, 2> kMass = {"mass", "methods"};
constexpr std::array<std::string_view, 2> kStress = {"force-default", "force-errors"};
constexpr std::array<std::string_view, 1> kClasses = {"classes"};
constexpr std::array<std::string_view, 1> kSeed = {"select-seed"};

constexpr std::array<Ablation, 10> kAblations = {{
    {"components", "baseline, + fusion, + ratio, both", false, components, kFusion},
    {"layers", "layer mixtures A to E, per class", true, layers, kFusion},
    {"split", "share of pivots 0.1 to 1, per class", true, splits},
    {"iterations", "3 to 11 iterations of the clustering", false, iterations},
    {"initial-weights", "where the layer weights start", false, initial_weights, kFusion},
    {"static-fusion", "one mix for all classes against one per class", false, static_fusion, kFusion},
    {"masses", "what dropped tokens leave behind: none or nearest", false, masses, kMass},
    {"router-robustness", "a share of questions to Default, or misrouted", false, router_robustness, kStress},
    {"router-choice", "classes by classifier, by rules alone, and as labelled", false, router_choice,
     kClasses},
    {"seeds", "seeds 42 to 46 of the clustering", false, seeds, kSeed},
}};

}  // namespace

std::span<const Ablation> ablations() {
    return kAblations;
}

Result<const Ablation*> find_ablation(std::string_view name) {
    std::vector<std::string_view> names;
    for (const Ablation& ablation : kAblations) {
        if (base::is_same_name(ablation.name, name)) return &ablation;
        names.push_back(ablation.name);
    }
    return Status(Code::NotFound, "there is no ablation " + base::in_quotes(name) +
                                      base::did_you_mean(name, names) + "; there are " + base::join(names));
}

std::size_t scaled_layer(std::size_t layer, const AblationBase& base) {
    const double place =
        static_cast<double>(layer) * static_cast<double>(base.feature_layer) / kPaperFeatureLayer;
    return std::min(static_cast<std::size_t>(std::lround(place)), base.n_vision_layers - 1);
}

}  // namespace clasp::eval
