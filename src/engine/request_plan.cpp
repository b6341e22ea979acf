#include "engine/request_plan.h"

#include <chrono>

#include "base/text.h"

namespace clasp::engine {

namespace {

Status invalid(std::string message) {
    return {Code::InvalidArgument, std::move(message)};
}

// The router speaks of its own classes; a policy with others can only be asked by name.
bool knows_classes(const Router& router, const Policy& policy) {
    if (router.classes().size() != policy.classes.size()) return false;
    for (std::size_t id = 0; id < policy.classes.size(); ++id) {
        if (router.classes()[id].name != policy.classes[id].name) return false;
    }
    return true;
}

Result<ClassChoice> choose_class(const AskRequest& request, const Policy& policy, const Router& router,
                                 std::vector<std::string>& notes) {
    if (!request.class_choice.empty()) {
        CLASP_ASSIGN_OR_RETURN(const std::size_t id, find_class(policy, request.class_choice));
        return ClassChoice{id, policy.classes[id].name, 1.0, std::string(routed_by_name(RoutedBy::Forced))};
    }
    if (!knows_classes(router, policy)) {
        notes.push_back(
            "the policy's classes are not the router's, so the question goes to its default class");
        return ClassChoice{policy.default_class, policy.classes[policy.default_class].name, 0.0,
                           std::string(routed_by_name(RoutedBy::Fallback))};
    }
    const RouteDecision decision = router.route(request.question);
    return ClassChoice{static_cast<std::size_t>(decision.class_id), decision.class_name,
                       static_cast<double>(decision.confidence), std::string(routed_by_name(decision.by))};
}

Status check_together(const AskRequest& request) {
    if (request.images.empty()) return invalid("a question needs at least one image");
    if (!request.forced_stages.empty() && !request.schedule_name.empty()) {
        return invalid("stages and a named schedule exclude each other");
    }
    if (request.vanilla && (!request.forced_stages.empty() || !request.schedule_name.empty())) {
        return invalid("vanilla means no pruning; it goes with no schedule");
    }
    return ok_status();
}

Status check_mix(const Mix& mix, const Policy& policy, const model::VisionInfo& vision) {
    const std::size_t depth = required_depth(mix);
    if (depth <= vision.n_blocks) return ok_status();
    return invalid("policy '" + policy.name + "' mixes vision layer " + std::to_string(depth - 1) +
                   ", but this vision tower has layers 0 to " + std::to_string(vision.n_blocks - 1) +
                   "; use another policy or no fusion");
}

}  // namespace

Result<RequestPlan> plan_request(const AskRequest& request, const Policy& policy, const Router& router,
                                 const model::VisionInfo& vision) {
    CLASP_RETURN_IF_ERROR(check_together(request));
    RequestPlan plan;
    const auto begin = std::chrono::steady_clock::now();
    CLASP_ASSIGN_OR_RETURN(plan.chosen_class, choose_class(request, policy, router, plan.notes));
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - begin;
    plan.route_ms = elapsed.count();

    const auto compat =
        request.numbers == Numbers::Original ? model::Compat::Original : model::Compat::LlamaCpp;
    if (request.vanilla || !request.use_fusion) {
        plan.mix = {{vision.default_layer(compat), 1.0}};
    } else {
        CLASP_ASSIGN_OR_RETURN(plan.mix, mix_for(policy, plan.chosen_class.id));
        CLASP_RETURN_IF_ERROR(check_mix(plan.mix, policy, vision));
    }
    plan.split = policy.classes[plan.chosen_class.id].split;
    CLASP_ASSIGN_OR_RETURN(plan.method,
                           methods::find_method(request.method.empty() ? policy.method : request.method));
    plan.mass = request.mass.value_or(plan.method->uses_masses ? MassRule::Nearest : policy.mass);
    const bool has_schedule = !request.forced_stages.empty() || !request.schedule_name.empty();
    plan.prunes = !request.vanilla && (has_schedule || request.budget.kind != BudgetSpec::Kind::None);
    return plan;
}

namespace {

// Multiply-adds that choosing costs beside the decoder: the Gram matrix, and per stage the attention rows
// and the clustering. A rough upper bound is enough to see whether pruning can pay at all.
double selection_flops(std::size_t n_visual, const DecoderShape& shape, std::size_t n_text,
                       std::size_t n_stages) {
    const auto n = static_cast<double>(n_visual);
    const auto width = static_cast<double>(shape.width);
    const double gram = n * n * width;
    const double rows = 2.0 * static_cast<double>(n_text) * n * width +
                        4.0 * (n + static_cast<double>(n_text)) * width * width;
    const double clustering = 6.0 * n * n;
    return gram + static_cast<double>(n_stages) * (rows + clustering);
}

constexpr double kAutoPercent = 33.0;
// Below this share of the prefill a saving is within the noise.
constexpr double kWorthwhile = 0.02;

}  // namespace

Result<Schedule> plan_schedule(const AskRequest& request, const Policy& policy, const RequestPlan& plan,
                               std::size_t n_visual, const DecoderShape& shape, std::size_t n_text,
                               std::vector<std::string>& notes) {
    ScheduleRequest wanted = schedule_request(policy, n_visual, shape.n_layers, request.budget);
    if (!plan.prunes) {
        wanted = {};
        wanted.n_visual = n_visual;
        wanted.n_layers = shape.n_layers;
        wanted.budget = {BudgetSpec::Kind::None, 0.0};
        return make_schedule(wanted);
    }
    if (!request.forced_stages.empty()) {
        wanted.forced = request.forced_stages;
        wanted.stage_layers.clear();
        wanted.named.clear();
    } else if (!request.schedule_name.empty()) {
        wanted.named = request.schedule_name;
        wanted.forced.clear();
    }
    const bool is_auto =
        wanted.forced.empty() && wanted.named.empty() && request.budget.kind == BudgetSpec::Kind::Auto;
    if (is_auto) wanted.budget = {BudgetSpec::Kind::Percent, kAutoPercent};
    CLASP_ASSIGN_OR_RETURN(Schedule schedule, make_schedule(wanted));
    CLASP_ASSIGN_OR_RETURN(const ScheduleCost cost, schedule_cost(schedule, shape, n_visual, n_text, 0));
    const double saved = cost.prefill_unpruned.total() - cost.prefill.total();
    const double spent = selection_flops(n_visual, shape, n_text, schedule.stages.size());
    if (saved - spent > kWorthwhile * cost.prefill_unpruned.total()) return schedule;
    if (!is_auto) {
        if (!schedule.stages.empty()) {
            notes.push_back(
                "pruning this model saves about as much as choosing the tokens costs; it may not be faster");
        }
        return schedule;
    }
    notes.push_back("not pruned: choosing tokens would cost about as much as it saves on this model");
    wanted.budget = {BudgetSpec::Kind::None, 0.0};
    return make_schedule(wanted);
}

}  // namespace clasp::engine
