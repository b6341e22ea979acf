#include "calibrate/search_space.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "base/json.h"
#include "base/text.h"
#include "eval/ablation.h"

namespace clasp::calibrate {

namespace {

using base::Json;

constexpr double kSumTolerance = 1e-6;

Status invalid(std::string message) {
    return {Code::InvalidArgument, "search space: " + std::move(message)};
}

Status not_a_space() {
    return {Code::Corrupt, "search space: not an object with \"mixes\" and \"splits\""};
}

Result<MixPrototype> parse_mix(const Json& entry) {
    MixPrototype mix;
    if (!entry["name"].get_to(mix.name) || !entry["weights"].is_object()) return not_a_space();
    std::map<std::size_t, double> weights;
    for (const auto& [layer, weight] : entry["weights"].items()) {
        const auto number = base::parse_size(layer);
        if (!number) return invalid(base::in_quotes(layer) + " is no layer");
        if (!weight.get_to(weights[*number])) return not_a_space();
    }
    for (const auto& [layer, weight] : weights) mix.weights.push_back({layer, weight});
    return mix;
}

Status check_mix(const MixPrototype& mix, std::size_t n_vision_layers) {
    double sum = 0.0;
    for (const LayerWeight& entry : mix.weights) {
        if (entry.layer >= n_vision_layers) {
            return invalid("mix " + base::in_quotes(mix.name) + " names layer " +
                           std::to_string(entry.layer) + ", but the tower has layers 0 to " +
                           std::to_string(n_vision_layers - 1));
        }
        if (!(entry.weight > 0.0))
            return invalid("a weight of mix " + base::in_quotes(mix.name) + " is not above 0");
        sum += entry.weight;
    }
    if (std::abs(sum - 1.0) > kSumTolerance) {
        return invalid("the weights of mix " + base::in_quotes(mix.name) + " do not sum to 1");
    }
    return ok_status();
}

}  // namespace

SearchSpace default_space(std::size_t n_vision_layers, std::size_t feature_layer) {
    eval::AblationBase tower;
    tower.n_vision_layers = n_vision_layers;
    tower.feature_layer = feature_layer;
    const std::vector<MixPrototype> published = {
        {"feature layer", {{22, 1.0}}},
        {"shallow", {{2, 0.2}, {6, 0.3}, {11, 0.5}}},
        {"early and deep", {{5, 0.2}, {22, 0.8}}},
        {"deep", {{20, 0.2}, {22, 0.8}}},
        {"spread", {{5, 0.2}, {15, 0.3}, {22, 0.5}}},
        {"middle to deep", {{14, 0.2}, {17, 0.3}, {22, 0.5}}},
        {"middle", {{12, 0.2}, {15, 0.3}, {19, 0.5}}},
        {"early to middle", {{3, 0.2}, {12, 0.3}, {18, 0.5}}},
    };
    SearchSpace space;
    for (const MixPrototype& mix : published) {
        std::map<std::size_t, double> sums;  // layers that fall together in a shallow tower add up
        for (const LayerWeight& entry : mix.weights)
            sums[eval::scaled_layer(entry.layer, tower)] += entry.weight;
        MixPrototype scaled{mix.name, {}};
        for (const auto& [layer, weight] : sums) scaled.weights.push_back({layer, weight});
        space.mixes.push_back(std::move(scaled));
    }
    space.splits = {0.1, 0.3, 0.5, 0.7, 0.9, 1.0};
    return space;
}

Result<SearchSpace> parse_space(std::string_view text, std::size_t n_vision_layers) {
    CLASP_ASSIGN_OR_RETURN(const Json json, base::parse_json(text, {}));
    SearchSpace space;
    if (!json["mixes"].is_array() || !json["splits"].get_to(space.splits)) return not_a_space();
    for (const Json& entry : json["mixes"]) {
        CLASP_ASSIGN_OR_RETURN(MixPrototype mix, parse_mix(entry));
        space.mixes.push_back(std::move(mix));
    }
    if (space.mixes.empty() || space.splits.empty()) return invalid("there is nothing to try");
    for (const MixPrototype& mix : space.mixes) CLASP_RETURN_IF_ERROR(check_mix(mix, n_vision_layers));
    for (const double split : space.splits) {
        if (!(split >= 0.0 && split <= 1.0)) return invalid("a split lies between 0 and 1");
    }
    return space;
}

Json as_json(const SearchSpace& space) {
    Json json = {{"mixes", Json::array()}, {"splits", space.splits}};
    for (const MixPrototype& mix : space.mixes) {
        Json weights = Json::object();
        for (const LayerWeight& entry : mix.weights) weights[std::to_string(entry.layer)] = entry.weight;
        json["mixes"].push_back({{"name", mix.name}, {"weights", weights}});
    }
    return json;
}

Result<Candidate> candidate_of(const Policy& policy, std::size_t class_id) {
    CLASP_ASSIGN_OR_RETURN(Mix mix, mix_for(policy, class_id));
    return Candidate{"policy", std::move(mix), policy.classes[class_id].split};
}

Policy with_candidate(Policy policy, std::size_t class_id, const Candidate& candidate) {
    PolicyClass& entry = policy.classes[class_id];
    // Scores mean the same weights under any tau; plain weights do so only under 1.
    entry.scores.clear();
    entry.weights.clear();
    if (policy.tau == 1.0) {
        entry.weights = candidate.weights;
    } else {
        for (const LayerWeight& weight : candidate.weights) {
            entry.scores.push_back({weight.layer, std::log(weight.weight) / policy.tau});
        }
    }
    entry.split = candidate.split;
    return policy;
}

std::vector<Candidate> joint_candidates(const SearchSpace& space) {
    std::vector<Candidate> candidates;
    for (const MixPrototype& mix : space.mixes) {
        for (const double split : space.splits) candidates.push_back({mix.name, mix.weights, split});
    }
    return candidates;
}

std::vector<Candidate> mix_candidates(const SearchSpace& space, double split) {
    std::vector<Candidate> candidates;
    for (const MixPrototype& mix : space.mixes) candidates.push_back({mix.name, mix.weights, split});
    return candidates;
}

std::vector<Candidate> split_candidates(const SearchSpace& space, const Candidate& mix) {
    std::vector<Candidate> candidates;
    for (const double split : space.splits) candidates.push_back({mix.mix_name, mix.weights, split});
    return candidates;
}

std::vector<Candidate> nearby_candidates(const Candidate& centre, std::size_t count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto unit = [&random] { return static_cast<double>(random() >> 11U) * 0x1.0p-53; };
    std::vector<Candidate> candidates;
    for (std::size_t i = 0; i < count; ++i) {
        Candidate candidate = centre;
        candidate.mix_name = centre.mix_name + " ~" + std::to_string(i + 1);
        double sum = 0.0;
        for (LayerWeight& entry : candidate.weights) {
            entry.weight *= std::exp(unit() - 0.5);
            sum += entry.weight;
        }
        for (LayerWeight& entry : candidate.weights) entry.weight /= sum;
        const double moved = centre.split + 0.2 * (unit() - 0.5);
        candidate.split = std::round(1000.0 * std::min(1.0, std::max(0.0, moved))) / 1000.0;
        candidates.push_back(std::move(candidate));
    }
    return candidates;
}

bool same_setting(const Candidate& a, const Candidate& b) {
    if (a.weights.size() != b.weights.size() || std::abs(a.split - b.split) > 1e-9) return false;
    for (std::size_t i = 0; i < a.weights.size(); ++i) {
        if (a.weights[i].layer != b.weights[i].layer) return false;
        if (std::abs(a.weights[i].weight - b.weights[i].weight) > 1e-9) return false;
    }
    return true;
}

std::size_t include_candidate(const Candidate& candidate, std::vector<Candidate>& candidates) {
    const auto found = std::find_if(candidates.begin(), candidates.end(),
                                    [&](const Candidate& other) { return same_setting(candidate, other); });
    if (found != candidates.end()) return static_cast<std::size_t>(found - candidates.begin());
    candidates.insert(candidates.begin(), candidate);
    return 0;
}

}  // namespace clasp::calibrate
