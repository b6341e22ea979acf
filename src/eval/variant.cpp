#include "eval/variant.h"

#include <algorithm>

#include "base/json.h"
#include "base/sha256.h"
#include "methods/method.h"
#include "policy/own_mass.h"

namespace clasp::eval {

namespace {

constexpr std::size_t kKeyDigits = 16;

}  // namespace

std::string_view class_source_name(ClassSource source) {
    switch (source) {
        case ClassSource::Classifier: return "classifier";
        case ClassSource::Rules: return "rules";
        case ClassSource::Truth: break;
    }
    return "truth";
}

Result<ClassSource> parse_class_source(std::string_view name) {
    for (const auto source : {ClassSource::Classifier, ClassSource::Rules, ClassSource::Truth}) {
        if (class_source_name(source) == name) return source;
    }
    return Status(Code::InvalidArgument,
                  "classes come from classifier, rules or truth, not from '" + std::string(name) + "'");
}

Variant vanilla_variant() {
    Variant variant;
    variant.label = "none";
    variant.method = "none";
    variant.budget = "none";
    return variant;
}

MassRule mass_of(const Variant& variant) {
    if (variant.mass) return *variant.mass;
    const bool is_named = !variant.method.empty();
    const std::string name = is_named ? variant.method : (variant.policy ? variant.policy->method : "clasp");
    const auto method = methods::find_method(name);  // check_variant() refuses unknown ones
    return method.ok() ? policy::own_mass(**method, is_named ? nullptr : variant.policy.get())
                       : MassRule::None;
}

std::string variant_key(const Variant& variant, std::size_t max_tokens) {
    base::Json json = {{"budget", variant.budget}, {"max_tokens", max_tokens}};
    // Not where nothing was said, so that answers of earlier versions stay known.
    if (variant.detail != PictureDetail()) {
        json["detail"] = {{"min_tokens", variant.detail.min_tokens},
                          {"max_tokens", variant.detail.max_tokens},
                          {"max_tiles", variant.detail.max_tiles},
                          {"preset", variant.detail.preset}};
        if (!variant.detail.tile_merge.empty()) json["detail"]["tile_merge"] = variant.detail.tile_merge;
        if (!variant.detail.newline.empty()) json["detail"]["newline"] = variant.detail.newline;
    }
    if (!variant.is_vanilla()) {
        json["method"] = variant.method;
        json["policy"] = variant.policy ? policy_hash(*variant.policy) : "";
        json["mass"] = mass_name(mass_of(variant));
        json["fusion"] = variant.use_fusion;
        json["select_seed"] = variant.select_seed;
        json["classes"] = class_source_name(variant.classes);
        json["default_ratio"] = variant.stress.default_ratio;
        json["error_ratio"] = variant.stress.error_ratio;
        json["stress_seed"] = variant.stress.seed;
        // The same here.
        if (!variant.method_options.empty()) json["method_options"] = variant.method_options;
        if (variant.budget_kind != "average") json["budget_kind"] = variant.budget_kind;
        if (variant.position_mode != "official") json["position_mode"] = variant.position_mode;
    }
    return base::sha256_hex(base::dump_json(json)).substr(0, kKeyDigits);
}

Status check_variant(const Variant& variant) {
    CLASP_ASSIGN_OR_RETURN(const BudgetSpec budget, parse_budget(variant.budget));
    static_cast<void>(budget);
    if (variant.is_vanilla()) return ok_status();
    if (!variant.method.empty()) {
        CLASP_RETURN_IF_ERROR(methods::check_method_choice({variant.method, variant.method_options}));
    }
    if (variant.policy) CLASP_RETURN_IF_ERROR(validate(*variant.policy));
    const RouterStress& stress = variant.stress;
    for (const double ratio : {stress.default_ratio, stress.error_ratio}) {
        if (!(ratio >= 0.0 && ratio <= 1.0)) {
            return {Code::InvalidArgument, "a share of questions to reroute lies between 0 and 1"};
        }
    }
    if (stress.default_ratio > 0.0 && stress.error_ratio > 0.0) {
        return {Code::InvalidArgument, "rerouting to the default class and misrouting exclude each other"};
    }
    return ok_status();
}

Result<AskRequest> variant_request(const Variant& variant, std::size_t max_tokens) {
    AskRequest request;
    CLASP_ASSIGN_OR_RETURN(request.budget, parse_budget(variant.budget));
    request.generation.max_tokens = max_tokens;
    request.detail = variant.detail;
    if (variant.policy) request.policy = *variant.policy;
    if (variant.is_vanilla()) {
        request.vanilla = true;
        return request;
    }
    request.method = variant.method;
    request.method_options = variant.method_options;
    request.budget_kind = variant.budget_kind;
    request.position_mode = variant.position_mode;
    request.mass = variant.mass;
    if (!variant.use_fusion) request.use_fusion = false;  // else as the method has it
    request.select_seed = variant.select_seed;
    return request;
}

std::vector<Variant> cross(const std::vector<std::string>& methods, const std::vector<std::string>& budgets,
                           const Variant& base, bool both_masses) {
    std::vector<Variant> variants;
    if (std::find(budgets.begin(), budgets.end(), "none") != budgets.end()) {
        variants.push_back(vanilla_variant());
        variants.back().policy = base.policy;
        variants.back().detail = base.detail;
    }
    const auto add = [&variants](Variant variant, const methods::Method* method) {
        if (method != nullptr) {
            const bool has_masses = mass_of(variant) == MassRule::Nearest;
            variant.method = methods::with_masses(*method, has_masses).name;
            variant.label = methods::method_label(*method, variant.method_options, has_masses);
        }
        const bool is_there = std::any_of(variants.begin(), variants.end(), [&](const Variant& other) {
            return other.label == variant.label && other.budget == variant.budget;
        });
        if (!is_there) variants.push_back(std::move(variant));
    };
    for (const std::string& budget : budgets) {
        if (budget == "none") continue;
        for (const std::string& name : methods) {
            Variant variant = base;
            variant.label = name;
            methods::MethodChoice choice = methods::split_method_choice(name);
            variant.method = std::move(choice.name);
            variant.method_options = std::move(choice.options);
            variant.budget = budget;
            const auto found = methods::find_method(variant.method);  // check_variant() refuses unknown ones
            const methods::Method* method = found.ok() ? *found : nullptr;
            const bool has_both = both_masses && method != nullptr && method->drops && !method->uses_masses;
            if (has_both) variant.mass = MassRule::None;
            add(variant, method);
            if (!has_both) continue;
            variant.mass = MassRule::Nearest;
            add(std::move(variant), method);
        }
    }
    return variants;
}

}  // namespace clasp::eval
