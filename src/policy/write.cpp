#include <algorithm>
#include <string>

#include "base/json.h"
#include "base/sha256.h"
#include "clasp/policy.h"
#include "policy/limits.h"

namespace clasp {
namespace {

using base::Json;

template <typename Entry>
std::vector<Entry> by_layer(std::vector<Entry> entries) {
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return a.layer < b.layer; });
    return entries;
}

Json class_json(const PolicyClass& entry, std::size_t id) {
    Json mix = Json::object();
    for (const auto& [layer, weight] : by_layer(entry.weights)) mix[std::to_string(layer)] = weight;
    for (const auto& [layer, score] : by_layer(entry.scores)) mix[std::to_string(layer)] = score;
    Json out = Json::object();
    out["id"] = id;
    out["name"] = entry.name;
    out[entry.weights.empty() ? "scores" : "weights"] = std::move(mix);
    out["split"] = entry.split;
    return out;
}

Json schedule_json(const Policy& policy) {
    Json out = Json::object();
    if (!policy.stage_layers.empty()) out["stages"] = policy.stage_layers;
    if (!policy.stage_shape.empty()) out["shape"] = policy.stage_shape;
    if (!policy.schedule_name.empty()) out["name"] = policy.schedule_name;
    if (!policy.forced_stages.empty()) {
        std::string forced;
        for (const Stage& stage : policy.forced_stages) {
            if (!forced.empty()) forced += ",";
            forced += std::to_string(stage.layer) + ":" + std::to_string(stage.keep);
        }
        out["forced"] = forced;
    }
    return out;
}

// Everything that can change an answer, every field present, in the order of the format.
void add_behaviour(const Policy& policy, Json& out) {
    out["model"] = Json::object();
    out["model"]["family"] = policy.model_family;
    out["model"]["vision_layers"] = policy.n_vision_layers;
    out["method"] = policy.method;
    out["mass"] = mass_name(policy.mass);
    out["reference_tokens"] = reference_name(policy.reference_tokens);
    out["stage_mode"] = stage_mode_name(policy.stage_mode);
    out["iterations"] = policy.iterations;
    out["schedule"] = schedule_json(policy);
    out["tau"] = policy.tau;
    out["default_class"] = policy.default_class;
    out["classes"] = Json::array();
    for (std::size_t id = 0; id < policy.classes.size(); ++id) {
        out["classes"].push_back(class_json(policy.classes[id], id));
    }
}

}  // namespace

std::string to_json(const Policy& policy) {
    Json out = Json::object();
    out["clasp_policy"] = kPolicyVersion;
    out["name"] = policy.name;
    out["description"] = policy.description;
    add_behaviour(policy, out);
    if (!policy.provenance.empty()) {
        // Text that validate() refuses is written as text, which parse_policy() refuses too.
        const auto provenance =
            base::parse_json(policy.provenance, policy::kProvenanceLimits, base::KeyOrder::AsWritten);
        out["provenance"] = provenance.ok() ? *provenance : Json(policy.provenance);
    }
    return base::dump_json(out, 2) + "\n";
}

std::string policy_hash(const Policy& policy) {
    Json out = Json::object();
    out["clasp_policy"] = kPolicyVersion;
    add_behaviour(policy, out);
    return base::sha256_hex(base::dump_json(out));
}

}  // namespace clasp
