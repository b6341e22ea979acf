#include <algorithm>
#include <string>

#include "base/text.h"
#include "clasp/policy.h"
#include "policy/limits.h"
#include "policy/object_reader.h"

namespace clasp {
namespace {

using base::Json;
using policy::ObjectReader;

// {"5": 0.2, "22": 0.8} into entries of rising layers.
template <typename Entry>
Status read_layer_map(const Json& value, const std::string& what, std::vector<Entry>& out) {
    if (!value.is_object()) return {Code::Corrupt, what + " is not an object of layer: number"};
    for (const auto& [key, item] : value.items()) {
        const auto layer = base::parse_size(key);
        if (!layer || std::to_string(*layer) != key) {
            return {Code::Corrupt,
                    what + " has key " + base::in_quotes(key) + ", which is not a layer counted from 0"};
        }
        double number = 0.0;
        if (!item.get_to(number)) {
            return {Code::Corrupt,
                    what + " gives layer " + std::to_string(*layer) + " something that is not a number"};
        }
        out.push_back({*layer, number});
    }
    std::sort(out.begin(), out.end(), [](const Entry& a, const Entry& b) { return a.layer < b.layer; });
    return {};
}

Result<PolicyClass> read_class(const Json& value, std::size_t id) {
    const std::string where = "class " + std::to_string(id);
    const ObjectReader reader(value, where);
    CLASP_RETURN_IF_ERROR(reader.check({"id", "name", "weights", "scores", "split"}));
    for (const std::string_view key : {"id", "name", "split"}) CLASP_RETURN_IF_ERROR(reader.require(key));
    std::size_t stated_id = 0;
    CLASP_RETURN_IF_ERROR(reader.read("id", stated_id));
    if (stated_id != id) {
        return Status(Code::InvalidArgument, "the class at place " + std::to_string(id) + " has id " +
                                                 std::to_string(stated_id) + "; ids count from 0 in order");
    }
    PolicyClass out;
    CLASP_RETURN_IF_ERROR(reader.read("name", out.name));
    CLASP_RETURN_IF_ERROR(reader.read("split", out.split));
    if (const Json* weights = reader.find("weights")) {
        CLASP_RETURN_IF_ERROR(read_layer_map(*weights, "key 'weights' of " + where, out.weights));
    }
    if (const Json* scores = reader.find("scores")) {
        CLASP_RETURN_IF_ERROR(read_layer_map(*scores, "key 'scores' of " + where, out.scores));
    }
    return out;
}

Status read_classes(const Json& value, Policy& policy) {
    if (!value.is_array()) return {Code::Corrupt, "key 'classes' of the policy is not a list"};
    if (value.size() > policy::kMaxClasses) {
        return {Code::TooLarge, "the policy has " + std::to_string(value.size()) +
                                    " classes, more than the limit of " +
                                    std::to_string(policy::kMaxClasses)};
    }
    for (const Json& item : value) {
        CLASP_ASSIGN_OR_RETURN(PolicyClass entry, read_class(item, policy.classes.size()));
        policy.classes.push_back(std::move(entry));
    }
    return {};
}

Status read_schedule(const Json& value, Policy& policy) {
    const ObjectReader reader(value, "the schedule");
    CLASP_RETURN_IF_ERROR(reader.check({"stages", "shape", "name", "forced"}));
    CLASP_RETURN_IF_ERROR(reader.read("stages", policy.stage_layers));
    CLASP_RETURN_IF_ERROR(reader.read("shape", policy.stage_shape));
    CLASP_RETURN_IF_ERROR(reader.read("name", policy.schedule_name));
    if (!reader.has("forced")) return {};
    std::string forced;
    CLASP_RETURN_IF_ERROR(reader.read("forced", forced));
    CLASP_ASSIGN_OR_RETURN(policy.forced_stages, parse_stages(forced));
    return {};
}

// A field that holds one of a few words.
template <typename T>
Status read_word(const ObjectReader& reader, std::string_view key, Result<T> (*parse)(std::string_view),
                 T& out) {
    if (!reader.has(key)) return {};
    std::string word;
    CLASP_RETURN_IF_ERROR(reader.read(key, word));
    CLASP_ASSIGN_OR_RETURN(out, parse(word));
    return {};
}

Status check_version(const ObjectReader& reader) {
    CLASP_RETURN_IF_ERROR(reader.require("clasp_policy"));
    std::size_t version = 0;
    CLASP_RETURN_IF_ERROR(reader.read("clasp_policy", version));
    if (version == static_cast<std::size_t>(kPolicyVersion)) return {};
    return {Code::Unsupported, "policy version " + std::to_string(version) + " is not supported; version " +
                                   std::to_string(kPolicyVersion) + " is"};
}

Result<Policy> read_policy_object(const Json& value) {
    const ObjectReader reader(value, "the policy");
    if (!value.is_object()) return Status(Code::Corrupt, "the policy is not an object");
    // Another version may have other keys, so it is looked at first.
    CLASP_RETURN_IF_ERROR(check_version(reader));
    CLASP_RETURN_IF_ERROR(reader.check({"clasp_policy", "name", "description", "model", "method", "mass",
                                        "reference_tokens", "stage_mode", "iterations", "schedule", "tau",
                                        "default_class", "classes", "provenance"}));
    for (const std::string_view key : {"name", "default_class", "classes"}) {
        CLASP_RETURN_IF_ERROR(reader.require(key));
    }
    Policy policy;
    CLASP_RETURN_IF_ERROR(reader.read("name", policy.name));
    CLASP_RETURN_IF_ERROR(reader.read("description", policy.description));
    if (const Json* model = reader.find("model")) {
        const ObjectReader model_reader(*model, "the model");
        CLASP_RETURN_IF_ERROR(model_reader.check({"family", "vision_layers"}));
        CLASP_RETURN_IF_ERROR(model_reader.read("family", policy.model_family));
        CLASP_RETURN_IF_ERROR(model_reader.read("vision_layers", policy.n_vision_layers));
    }
    CLASP_RETURN_IF_ERROR(reader.read("method", policy.method));
    CLASP_RETURN_IF_ERROR(read_word(reader, "mass", parse_mass, policy.mass));
    CLASP_RETURN_IF_ERROR(read_word(reader, "reference_tokens", parse_reference, policy.reference_tokens));
    CLASP_RETURN_IF_ERROR(read_word(reader, "stage_mode", parse_stage_mode, policy.stage_mode));
    CLASP_RETURN_IF_ERROR(reader.read("iterations", policy.iterations));
    if (const Json* schedule = reader.find("schedule"))
        CLASP_RETURN_IF_ERROR(read_schedule(*schedule, policy));
    CLASP_RETURN_IF_ERROR(reader.read("tau", policy.tau));
    CLASP_RETURN_IF_ERROR(reader.read("default_class", policy.default_class));
    CLASP_RETURN_IF_ERROR(read_classes(*reader.find("classes"), policy));
    if (const Json* provenance = reader.find("provenance")) policy.provenance = base::dump_json(*provenance);
    return policy;
}

}  // namespace

Result<Policy> parse_policy(std::string_view text) {
    CLASP_ASSIGN_OR_RETURN(const Json value, base::parse_json(text, policy::kFileLimits));
    CLASP_ASSIGN_OR_RETURN(Policy policy, read_policy_object(value));
    CLASP_RETURN_IF_ERROR(validate(policy));
    return policy;
}

}  // namespace clasp
