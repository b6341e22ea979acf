#include "serve/plan_refusal.h"

#include <algorithm>

#include "base/text.h"
#include "engine/ask_plan.h"

namespace clasp::serve {

namespace {

bool has_pictures(const std::vector<MessagePart>& parts) {
    return std::any_of(parts.begin(), parts.end(),
                       [](const MessagePart& part) { return part.image.has_value(); });
}

bool has_pictures(const AskRequest& request) {
    return !request.images.empty() || has_pictures(request.parts) ||
           std::any_of(request.history.begin(), request.history.end(),
                       [](const Message& message) { return has_pictures(message.parts); });
}

bool can_be_planned(const engine::EngineState& state, const AskRequest& request) {
    return engine::plan_ask(state, request).ok();
}

bool has_schedule(const AskRequest& request) {
    return !request.forced_stages.empty() || !request.schedule_name.empty();
}

}  // namespace

Refusal refusal_of_plan(const engine::EngineState& state, const AskRequest& request, const Status& status,
                        const std::string& request_id) {
    const bool is_theirs = status.code() == Code::InvalidArgument || status.code() == Code::Unsupported;
    if (!is_theirs) return refusal_of(status, request_id, "messages");
    if (state.vision == nullptr || !has_pictures(request))
        return bad_field("unsupported_content", request.is_raw ? "prompt" : "messages", status.message());
    AskRequest other = request;
    other.forced_stages.clear();
    other.schedule_name.clear();
    if (has_schedule(request) && can_be_planned(state, other))
        return bad_field("out_of_range", "clasp.schedule", status.message());
    other.budget = BudgetSpec();
    if (!has_schedule(request) && can_be_planned(state, other))
        return bad_field("budget_impossible", "clasp.budget", status.message());
    other.method.clear();
    other.method_options.clear();
    other.mass.reset();
    if (can_be_planned(state, other)) return bad_field("out_of_range", "clasp.method", status.message());
    return bad_field("unsupported_content", request.is_raw ? "prompt" : "messages", status.message());
}

Check check_budget(const AskRequest& request, std::size_t n_visual) {
    const bool is_count = request.budget.kind == BudgetSpec::Kind::Tokens;
    if (!is_count || has_schedule(request) || request.vanilla || n_visual == 0) return std::nullopt;
    if (request.budget.value <= static_cast<double>(n_visual)) return std::nullopt;
    return bad_field("out_of_range", "clasp.budget",
                     "budget must be at most " + std::to_string(n_visual) +
                         ", the visual tokens of the request's pictures, got " +
                         base::format_exact(request.budget.value));
}

}  // namespace clasp::serve
