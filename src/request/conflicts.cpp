#include "request/conflicts.h"

#include <array>
#include <string>
#include <string_view>

#include "base/invalid.h"
#include "methods/method.h"

namespace clasp::request {

namespace {

using base::invalid;

Status check_vanilla(const Settings& settings, Caller caller) {
    constexpr std::array<std::string_view, 8> kOthers = {"schedule",      "method",    "method-option",
                                                         "mass",          "no-fusion", "budget-kind",
                                                         "position-mode", "split-time"};
    const std::string vanilla = spelled("vanilla", caller);
    for (const std::string_view other : kOthers) {
        if (!settings.is_given(other)) continue;
        return invalid(vanilla + " means no fusion and no pruning; " + spelled(other, caller) +
                       " has no effect with it");
    }
    if (settings.is_given("budget") && settings.request.budget.kind != BudgetSpec::Kind::None) {
        return invalid(vanilla + " means no pruning; " + spelled("budget", caller) +
                       " has no effect with it");
    }
    return ok_status();
}

Status check_router(const Settings& settings, Caller caller) {
    const std::string router = spelled("router", caller);
    const bool is_llm = settings.router.kind == "llm";
    if (is_llm == settings.router.model.empty()) {
        return invalid(router + " llm and " + spelled("router-model", caller) + " FILE belong together");
    }
    if (!is_llm && settings.is_given("router-timeout")) {
        return invalid(spelled("router-timeout", caller) + " goes with " + router + " llm");
    }
    if (!settings.is_given("class")) return ok_status();
    for (const std::string_view other : {"router", "taxonomy", "classifier"}) {
        if (!settings.is_given(other)) continue;
        return invalid(spelled("class", caller) + " skips the router; " + spelled(other, caller) +
                       " has no effect with it");
    }
    return ok_status();
}

}  // namespace

Status check_conflicts(const Settings& settings, Caller caller) {
    CLASP_RETURN_IF_ERROR(check_router(settings, caller));
    if (settings.is_given("cache-size") && settings.engine.cache_dir.empty()) {
        return invalid(spelled("cache-size", caller) + " bounds the folder of " + spelled("cache", caller) +
                       ", which is not given");
    }
    if (settings.is_given("schedule") && settings.is_given("budget")) {
        return invalid(spelled("budget", caller) + " and " + spelled("schedule", caller) +
                       " exclude each other");
    }
    if (settings.request.detail.preset == "paper" && settings.request.detail.min_tokens > 0 &&
        settings.request.detail.max_tokens > 0) {
        return invalid(spelled("image-tokens", caller) + " paper names both limits; " +
                       spelled("image-min-tokens", caller) + " and " + spelled("image-max-tokens", caller) +
                       " leave nothing of it");
    }
    const ClipChoice& clip = settings.request.clip;
    if (clip.start_s && clip.end_s && *clip.end_s < *clip.start_s) {
        return invalid(spelled("end", caller) + " is before " + spelled("start", caller));
    }
    return settings.request.vanilla ? check_vanilla(settings, caller) : ok_status();
}

Status check_text_only(const Settings& settings, Caller caller) {
    const auto refuse = [&](std::string_view name) {
        return invalid("a question without a picture has no visual tokens; " + spelled(name, caller) +
                       " has no effect on it");
    };
    for (const Row& row : option_table()) {
        const bool is_true_of_text =
            row.option.name == "budget" && settings.request.budget.kind == BudgetSpec::Kind::None;
        if (row.about == About::Anything || is_true_of_text) continue;
        if (settings.is_given(row.option.name)) return refuse(row.option.name);
    }
    return ok_status();
}

Status check_choices(const AskRequest& request, const Policy& policy) {
    const std::string& method = request.method.empty() ? policy.method : request.method;
    CLASP_RETURN_IF_ERROR(methods::check_method_choice({method, request.method_options}));
    if (request.mass == MassRule::Nearest) {
        CLASP_ASSIGN_OR_RETURN(const methods::Method* chosen, methods::find_method(method));
        CLASP_RETURN_IF_ERROR(methods::check_masses(*chosen));
    }
    if (request.class_choice.empty()) return ok_status();
    return find_class(policy, request.class_choice).status();
}

}  // namespace clasp::request
