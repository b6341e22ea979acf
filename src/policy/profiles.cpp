// The built-in policies. The numbers of `llava` and `qwen2.5-vl` are those of the paper's table of
// hyper-parameters; the others change one thing each, as docs/reference/policy-format.md says.
#include <array>
#include <string>

#include "base/suggest.h"
#include "base/text.h"
#include "clasp/classes.h"
#include "clasp/policy.h"

namespace clasp {
namespace {

using Weights = std::vector<LayerWeight>;

constexpr std::size_t kClipLayers = 24;
constexpr std::size_t kClipFeatureLayer = 22;  // the layer the LLaVA family was trained on
constexpr std::size_t kQwenLayers = 32;

// The share of pivots per class, the same for all models (the paper's a).
constexpr std::array<double, kClassNames.size()> kSplits = {0.8, 0.4, 0.7, 0.7, 0.7, 0.6, 0.8, 0.2, 0.9};

Policy with_classes(std::string name, std::string description) {
    Policy policy;
    policy.name = std::move(name);
    policy.description = std::move(description);
    policy.model_family = "llava";
    policy.n_vision_layers = kClipLayers;
    policy.default_class = kDefaultClass;
    for (std::size_t id = 0; id < kClassNames.size(); ++id) {
        PolicyClass entry;
        entry.name = kClassNames[id];
        entry.split = kSplits[id];
        policy.classes.push_back(std::move(entry));
    }
    return policy;
}

void set_mixes(Policy& policy, const std::array<Weights, kClassNames.size()>& mixes) {
    for (std::size_t id = 0; id < mixes.size(); ++id) policy.classes[id].weights = mixes[id];
}

// One mix for every class.
void set_mix(Policy& policy, const Weights& mix) {
    for (PolicyClass& entry : policy.classes) entry.weights = mix;
}

// The Default class's split for every class.
void set_one_split(Policy& policy) {
    for (PolicyClass& entry : policy.classes) entry.split = kSplits[kDefaultClass];
}

std::array<Weights, kClassNames.size()> llava_mixes() {
    return {{
        {{5, 0.2}, {15, 0.3}, {22, 0.5}},
        {{5, 0.2}, {22, 0.8}},
        {{5, 0.2}, {22, 0.8}},
        {{20, 0.2}, {22, 0.8}},
        {{14, 0.2}, {17, 0.3}, {22, 0.5}},
        {{5, 0.2}, {15, 0.3}, {22, 0.5}},
        {{12, 0.2}, {15, 0.3}, {19, 0.5}},
        {{3, 0.2}, {12, 0.3}, {18, 0.5}},
        {{20, 0.2}, {22, 0.8}},
    }};
}

Policy llava() {
    Policy policy = with_classes("llava", "The paper's numbers for the LLaVA family");
    set_mixes(policy, llava_mixes());
    return policy;
}

Policy qwen() {
    Policy policy = with_classes("qwen2.5-vl", "The paper's numbers for Qwen2.5-VL");
    policy.model_family = "qwen2.5-vl";
    policy.n_vision_layers = kQwenLayers;
    set_mixes(policy, {{
                          {{9, 0.2}, {22, 0.3}, {31, 0.5}},
                          {{9, 0.2}, {31, 0.8}},
                          {{9, 0.2}, {31, 0.8}},
                          {{28, 0.2}, {31, 0.8}},
                          {{21, 0.2}, {24, 0.3}, {31, 0.5}},
                          {{9, 0.2}, {22, 0.3}, {31, 0.5}},
                          {{18, 0.2}, {22, 0.3}, {28, 0.5}},
                          {{6, 0.2}, {18, 0.3}, {26, 0.5}},
                          {{29, 0.2}, {31, 0.8}},
                      }});
    return policy;
}

Policy uniform() {
    // LLaVA's files store the tower up to its feature layer, so no mix of all layers goes beyond it.
    constexpr std::size_t kStored = kClipFeatureLayer + 1;
    Policy policy =
        with_classes("uniform", "Vision layers 0 to 22 in equal parts, one split for all classes");
    Weights mix;
    for (std::size_t layer = 0; layer < kStored; ++layer) mix.push_back({layer, 1.0 / kStored});
    set_mix(policy, mix);
    set_one_split(policy);
    return policy;
}

Policy penultimate() {
    Policy policy = with_classes("penultimate", "The model's own feature layer, one split for all classes");
    set_mix(policy, {{kClipFeatureLayer, 1.0}});
    set_one_split(policy);
    return policy;
}

Policy static_mix(std::string_view name, std::size_t last) {
    Policy policy = with_classes(std::string(name), "Layers 2, 17 and " + std::to_string(last) +
                                                        " in equal parts, one split for all classes");
    set_mix(policy, {{2, 1.0 / 3.0}, {17, 1.0 / 3.0}, {last, 1.0 / 3.0}});
    set_one_split(policy);
    return policy;
}

Policy static_23() {
    return static_mix("static-2-17-23", 23);
}

// What the code of the study behind it reads; also the one that files without the last block can give.
Policy static_22() {
    return static_mix("static-2-17-22", kClipFeatureLayer);
}

Policy fusion_only() {
    Policy policy =
        with_classes("fusion-only", "Ablation: the classes' mixes of llava, one split for all classes");
    set_mixes(policy, llava_mixes());
    set_one_split(policy);
    return policy;
}

Policy ratio_only() {
    Policy policy =
        with_classes("ratio-only", "Ablation: the model's own feature layer, the classes' splits of llava");
    set_mix(policy, {{kClipFeatureLayer, 1.0}});
    return policy;
}

struct Profile {
    std::string_view name;
    Policy (*make)();
};

constexpr std::array<Profile, 8> kProfiles = {{{"llava", llava},
                                               {"qwen2.5-vl", qwen},
                                               {"uniform", uniform},
                                               {"penultimate", penultimate},
                                               {"static-2-17-23", static_23},
                                               {"static-2-17-22", static_22},
                                               {"fusion-only", fusion_only},
                                               {"ratio-only", ratio_only}}};

// Layers that fall on the same one share its weight.
Weights by_depth(const Weights& mix, std::size_t native) {
    Weights mapped;
    for (const LayerWeight& entry : mix) {
        const std::size_t layer = (2 * entry.layer * native + kClipFeatureLayer) / (2 * kClipFeatureLayer);
        if (!mapped.empty() && mapped.back().layer == layer) {
            mapped.back().weight += entry.weight;
        } else {
            mapped.push_back({layer, entry.weight});
        }
    }
    return mapped;
}

}  // namespace

Policy depth_profile(std::size_t n_blocks, std::size_t native) {
    Policy policy = with_classes("llava-by-depth",
                                 "The paper's numbers for LLaVA with their layers mapped by "
                                 "depth to a tower of " +
                                     std::to_string(n_blocks) + " blocks (ours)");
    policy.model_family.clear();
    policy.n_vision_layers = n_blocks;
    std::array<Weights, kClassNames.size()> mixes = llava_mixes();
    for (Weights& mix : mixes) mix = by_depth(mix, native);
    set_mixes(policy, mixes);
    return policy;
}

std::vector<std::string_view> profile_names() {
    std::vector<std::string_view> names;
    for (const Profile& profile : kProfiles) names.push_back(profile.name);
    return names;
}

Result<Policy> find_profile(std::string_view name) {
    for (const Profile& profile : kProfiles) {
        if (base::is_same_name(profile.name, name)) return profile.make();
    }
    const std::vector<std::string_view> names = profile_names();
    return Status(Code::NotFound, "there is no profile " + base::in_quotes(name) +
                                      base::did_you_mean(name, names) + "; there are " + base::join(names));
}

}  // namespace clasp
