#include <cmath>
#include <map>
#include <string>

#include "base/text.h"
#include "base/utf8.h"
#include "clasp/policy.h"
#include "policy/limits.h"

namespace clasp {
namespace {

using base::in_quotes;

Status bad(std::string message) {
    return {Code::InvalidArgument, std::move(message)};
}

std::string number(std::size_t value) {
    return std::to_string(value);
}

// Names go into file names and command lines.
bool is_plain_name(std::string_view name) {
    if (name.empty() || name.size() > policy::kMaxNameBytes) return false;
    for (const char c : name) {
        const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        const bool is_digit = c >= '0' && c <= '9';
        if (!is_letter && !is_digit && c != '.' && c != '_' && c != '+' && c != '-') return false;
    }
    return true;
}

Status check_plain_name(std::string_view what, std::string_view name) {
    if (is_plain_name(name)) return {};
    return bad("policy field " + in_quotes(what) + " is " + in_quotes(name) + ", not 1 to " +
               number(policy::kMaxNameBytes) + " of the characters A-Z a-z 0-9 . _ + -");
}

// UTF-8 without control characters.
bool is_text(const std::string& text) {
    for (const char c : text) {
        if (static_cast<unsigned char>(c) < 0x20 || c == '\x7f') return false;
    }
    return !base::first_invalid_utf8(text);
}

Status check_text(const std::string& what, const std::string& text, std::size_t max_bytes) {
    if (text.size() > max_bytes) {
        return bad(what + " has " + number(text.size()) + " bytes, more than the limit of " +
                   number(max_bytes));
    }
    if (!is_text(text)) return bad(what + " is not UTF-8 text without control characters");
    return {};
}

// The mix rules that weights and scores share.
template <typename Entry>
Status check_mix_layers(const Policy& policy, const std::string& where, const std::vector<Entry>& entries) {
    const std::size_t limit = policy.n_vision_layers != 0 ? policy.n_vision_layers : policy::kMaxVisionLayers;
    std::map<std::size_t, bool> seen;
    for (const Entry& entry : entries) {
        if (entry.layer >= limit) {
            return bad(where + " names vision layer " + number(entry.layer) + ", but the last of " +
                       number(limit) + " is " + number(limit - 1));
        }
        if (!seen.emplace(entry.layer, true).second) {
            return bad(where + " names vision layer " + number(entry.layer) + " twice");
        }
    }
    return {};
}

Status check_weights(const std::string& where, const PolicyClass& entry) {
    double sum = 0.0;
    for (const auto& [layer, weight] : entry.weights) {
        if (!std::isfinite(weight) || weight < 0.0) {
            return bad(where + " gives layer " + number(layer) + " the weight " + base::format_exact(weight) +
                       "; weights are finite and at least 0");
        }
        sum += weight;
    }
    if (std::abs(sum - 1.0) > policy::kWeightSumTolerance) {
        return bad(where + " has weights that sum to " + base::format_number(sum, 6) + ", not 1");
    }
    return {};
}

Status check_class(const Policy& policy, std::size_t id) {
    const PolicyClass& entry = policy.classes[id];
    const std::string where = "class " + number(id);
    if (entry.name.empty()) return bad(where + " has no name");
    CLASP_RETURN_IF_ERROR(check_text("the name of " + where, entry.name, policy::kMaxNameBytes));
    if (entry.weights.empty() == entry.scores.empty()) {
        return bad(where + " needs either weights or scores, and not both");
    }
    CLASP_RETURN_IF_ERROR(check_mix_layers(policy, where, entry.weights));
    CLASP_RETURN_IF_ERROR(check_mix_layers(policy, where, entry.scores));
    for (const auto& [layer, score] : entry.scores) {
        if (!std::isfinite(score)) {
            return bad(where + " gives layer " + number(layer) + " the score " + base::format_exact(score) +
                       "; scores are finite, and a layer that is not read is left out");
        }
    }
    if (!entry.weights.empty()) CLASP_RETURN_IF_ERROR(check_weights(where, entry));
    if (!(entry.split >= 0.0 && entry.split <= 1.0)) {
        return bad(where + " has split " + base::format_exact(entry.split) +
                   ", which is not between 0 and 1");
    }
    return {};
}

Status check_classes(const Policy& policy) {
    if (policy.classes.empty() || policy.classes.size() > policy::kMaxClasses) {
        return bad("a policy has 1 to " + number(policy::kMaxClasses) + " classes, not " +
                   number(policy.classes.size()));
    }
    std::map<std::string, std::size_t> ids;
    for (std::size_t id = 0; id < policy.classes.size(); ++id) {
        CLASP_RETURN_IF_ERROR(check_class(policy, id));
        const auto [found, is_new] = ids.emplace(base::lower(policy.classes[id].name), id);
        if (!is_new) {
            return bad("classes " + number(found->second) + " and " + number(id) + " are both named " +
                       in_quotes(policy.classes[id].name) + " (letter case ignored)");
        }
    }
    if (policy.default_class >= policy.classes.size()) {
        return bad("default_class " + number(policy.default_class) + " is not one of the " +
                   number(policy.classes.size()) + " classes");
    }
    return {};
}

// What can be told without knowing the decoder; make_schedule() checks the rest.
Status check_schedule(const Policy& policy) {
    if (!policy.forced_stages.empty() && (!policy.stage_layers.empty() || !policy.schedule_name.empty())) {
        return bad("a policy's schedule has either forced stages or stage layers and a name");
    }
    ScheduleRequest request;
    request.n_visual = 576;
    request.n_layers = 4096;
    request.budget.kind = BudgetSpec::Kind::None;
    request.stage_layers = policy.stage_layers;
    request.shape = policy.stage_shape;
    request.forced = policy.forced_stages;
    request.named = policy.schedule_name;
    request.stage_mode = policy.stage_mode;
    return make_schedule(request).status().with_context("policy field 'schedule'");
}

}  // namespace

Status validate(const Policy& policy) {
    CLASP_RETURN_IF_ERROR(check_plain_name("name", policy.name));
    CLASP_RETURN_IF_ERROR(
        check_text("policy field 'description'", policy.description, policy::kMaxDescriptionBytes));
    if (!policy.model_family.empty()) CLASP_RETURN_IF_ERROR(check_plain_name("family", policy.model_family));
    if (policy.n_vision_layers > policy::kMaxVisionLayers) {
        return bad("policy field 'vision_layers' is " + number(policy.n_vision_layers) +
                   ", more than the limit of " + number(policy::kMaxVisionLayers));
    }
    if (!std::isfinite(policy.tau) || policy.tau <= 0.0) {
        return bad("policy field 'tau' is " + base::format_exact(policy.tau) +
                   ", not a finite number above 0");
    }
    CLASP_RETURN_IF_ERROR(check_plain_name("method", policy.method));
    if (policy.method == "clasp+" && policy.mass != MassRule::Nearest) {
        return bad("method 'clasp+' means mass 'nearest', but the policy says 'none'");
    }
    if (policy.iterations > policy::kMaxIterations) {
        return bad("policy field 'iterations' is " + number(policy.iterations) + ", more than the limit of " +
                   number(policy::kMaxIterations));
    }
    CLASP_RETURN_IF_ERROR(check_schedule(policy));
    CLASP_RETURN_IF_ERROR(check_classes(policy));
    if (policy.provenance.empty()) return {};
    const auto provenance = base::parse_json(policy.provenance, policy::kProvenanceLimits);
    if (!provenance.ok()) return provenance.status().with_context("policy field 'provenance'");
    if (!provenance->is_object()) return bad("policy field 'provenance' is not an object");
    return {};
}

}  // namespace clasp
