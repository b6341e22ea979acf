#include "engine/request_plan.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <optional>

#include "base/text.h"

namespace clasp::engine {

namespace {

Status invalid(std::string message) {
    return {Code::InvalidArgument, std::move(message)};
}

std::optional<std::size_t> class_named(const Policy& policy, const std::string& name) {
    for (std::size_t id = 0; id < policy.classes.size(); ++id) {
        if (policy.classes[id].name == name) return id;
    }
    return std::nullopt;
}

// The router speaks of its own classes; a policy that lacks one of them can only be asked by name.
bool knows_classes(const Router& router, const Policy& policy) {
    return std::all_of(router.classes().begin(), router.classes().end(),
                       [&](const RouteClass& c) { return class_named(policy, c.name).has_value(); });
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
    if (decision.model_failed) notes.push_back(decision.reason);
    return ClassChoice{*class_named(policy, decision.class_name), decision.class_name,
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

    CLASP_ASSIGN_OR_RETURN(plan.method,
                           methods::find_method(request.method.empty() ? policy.method : request.method));
    CLASP_ASSIGN_OR_RETURN(plan.settings, methods::Settings::read(plan.method->name, plan.method->options,
                                                                  request.method_options));
    CLASP_ASSIGN_OR_RETURN(plan.budget_kind, methods::parse_budget_kind(request.budget_kind));
    const auto compat =
        request.numbers == Numbers::Original ? model::Compat::Original : model::Compat::LlamaCpp;
    if (request.vanilla || !request.use_fusion.value_or(plan.method->mixes_layers)) {
        plan.mix = {{vision.default_layer(compat), 1.0}};
    } else {
        CLASP_ASSIGN_OR_RETURN(plan.mix, mix_for(policy, plan.chosen_class.id));
        CLASP_RETURN_IF_ERROR(check_mix(plan.mix, policy, vision));
    }
    plan.split = policy.classes[plan.chosen_class.id].split;
    if (request.mass == MassRule::Nearest && !plan.method->drops) {
        return invalid("method '" + std::string(plan.method->name) +
                       "' leaves no masses: it merges what it takes away, or nothing survives it");
    }
    plan.mass = request.mass.value_or(plan.method->uses_masses ? MassRule::Nearest : policy.mass);
    if (!plan.method->drops) plan.mass = MassRule::None;
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

// Proportions of the counts at the stages of the paper's schedule for 192 tokens.
constexpr std::array kPublishedProportions = {300.0, 200.0, 110.0};

// Stages such that a budget of another kind than the average is met.
Result<std::vector<Stage>> stages_for_kind(const ScheduleRequest& wanted, const methods::Budget& budget,
                                           std::string_view method) {
    std::vector<std::size_t> layers = wanted.stage_layers;
    if (layers.empty()) {
        CLASP_ASSIGN_OR_RETURN(layers, default_stage_layers(wanted.n_layers));
    }
    std::vector<methods::StageShape> shapes;
    for (std::size_t i = 0; i < layers.size(); ++i) {
        double proportion = std::ldexp(1.0, -static_cast<int>(i));
        if (!wanted.shape.empty()) {
            proportion = static_cast<double>(wanted.shape[i]);
        } else if (layers.size() == kPublishedProportions.size()) {
            proportion = kPublishedProportions[i];
        }
        shapes.push_back({layers[i], proportion});
    }
    CLASP_ASSIGN_OR_RETURN(const auto counts, methods::solve_stage_counts(wanted.n_visual, wanted.n_layers,
                                                                          shapes, budget, method));
    std::vector<Stage> stages;
    for (std::size_t i = 0; i < layers.size(); ++i) stages.push_back({layers[i], counts[i]});
    return stages;
}

double tokens_of(const BudgetSpec& budget, std::size_t n_visual) {
    if (budget.kind == BudgetSpec::Kind::Tokens) return budget.value;
    const double percent = budget.kind == BudgetSpec::Kind::Percent ? budget.value : kAutoPercent;
    return percent / 100.0 * static_cast<double>(n_visual);
}

// The schedule of methods on the policy's stages.
Result<Schedule> policy_schedule(const AskRequest& request, const Policy& policy, const RequestPlan& plan,
                                 const RequestShape& shape) {
    ScheduleRequest wanted =
        schedule_request(policy, shape.n_visual(), shape.decoder.n_layers, request.budget);
    const bool is_counted = plan.budget_kind != methods::BudgetKind::Average;
    const auto force = [&wanted](std::vector<Stage> stages) {
        wanted.forced = std::move(stages);
        wanted.stage_layers.clear();
        wanted.shape.clear();
        wanted.named.clear();
    };
    if (!request.forced_stages.empty()) {
        force(request.forced_stages);
    } else if (!request.schedule_name.empty()) {
        wanted.named = request.schedule_name;
        wanted.shape.clear();
        wanted.forced.clear();
    } else if (is_counted) {
        const methods::Budget budget = {tokens_of(request.budget, shape.n_visual()), plan.budget_kind};
        CLASP_ASSIGN_OR_RETURN(std::vector<Stage> stages, stages_for_kind(wanted, budget, plan.method->name));
        force(std::move(stages));
    } else if (wanted.forced.empty() && wanted.named.empty() &&
               request.budget.kind == BudgetSpec::Kind::Auto) {
        wanted.budget = {BudgetSpec::Kind::Percent, kAutoPercent};
    }
    return make_schedule(wanted);
}

// How many visual tokens each layer processes under a program.
Schedule schedule_of(const methods::Program& program, std::size_t n_layers) {
    Schedule schedule;
    std::size_t live = program.entering;
    std::size_t next = 0;
    for (std::size_t layer = 0; layer < n_layers; ++layer) {
        while (next < program.stages.size()) {
            const methods::DecoderStage& stage = program.stages[next];
            if (stage.layer + (stage.mode == StageMode::After ? 1 : 0) > layer) break;
            live = std::min(live, stage.keep);
            ++next;
        }
        schedule.per_layer.push_back(live);
    }
    return schedule;
}

// Whether a program saves clearly more than choosing costs.
Result<bool> is_worthwhile(const methods::Program& program, const RequestShape& shape) {
    CLASP_ASSIGN_OR_RETURN(const ScheduleCost cost,
                           schedule_cost(schedule_of(program, shape.decoder.n_layers), shape.decoder,
                                         shape.n_visual(), shape.n_text, 0));
    const double saved = cost.prefill_unpruned.total() - cost.prefill.total();
    const double spent =
        selection_flops(shape.n_visual(), shape.decoder, shape.n_text, program.stages.size());
    return saved - spent > kWorthwhile * cost.prefill_unpruned.total();
}

}  // namespace

Result<std::unique_ptr<methods::MethodRun>> start_method(const AskRequest& request, const Policy& policy,
                                                         const RequestPlan& plan, const RequestShape& shape,
                                                         std::vector<std::string>& notes) {
    std::unique_ptr<methods::MethodRun> none;
    if (!plan.prunes) return none;
    methods::Setup setup;
    const Grid grid = shape.vision.grid;
    setup.grids.assign(shape.n_images, {grid.height, grid.width});
    setup.n_visual = shape.n_visual();
    setup.n_layers = shape.decoder.n_layers;
    setup.vision = {.n_blocks = shape.vision.n_blocks,
                    .feature_layer = shape.vision.feature_layer,
                    .width = shape.vision.width,
                    .n_heads = shape.vision.n_heads};
    setup.budget = {tokens_of(request.budget, setup.n_visual), plan.budget_kind};
    setup.settings = plan.settings;
    setup.split = plan.split;
    setup.iterations = static_cast<std::uint32_t>(policy.iterations);
    if (plan.method->uses_schedule) {
        CLASP_ASSIGN_OR_RETURN(const Schedule schedule, policy_schedule(request, policy, plan, shape));
        if (!schedule.note.empty()) notes.push_back(schedule.note);
        if (schedule.stages.empty()) return none;
        setup.stages = schedule.stages;
        setup.stage_mode = schedule.stage_mode;
    } else {
        if (!request.schedule_name.empty()) {
            return invalid("method '" + std::string(plan.method->name) +
                           "' has stages of its own; a named schedule does not fit it");
        }
        setup.stages = request.forced_stages;
        if (setup.stages.empty() && setup.budget.tokens >= static_cast<double>(setup.n_visual)) return none;
    }
    CLASP_ASSIGN_OR_RETURN(auto run, plan.method->start(setup));
    const methods::Program& program = run->program();
    if (!request.forced_stages.empty() && program.stages.empty()) {
        return invalid("method '" + std::string(plan.method->name) +
                       "' drops tokens before the decoder; a schedule does not fit it");
    }
    notes.insert(notes.end(), program.notes.begin(), program.notes.end());
    CLASP_ASSIGN_OR_RETURN(const bool pays, is_worthwhile(program, shape));
    if (pays) return run;
    if (request.budget.kind == BudgetSpec::Kind::Auto && request.forced_stages.empty() &&
        request.schedule_name.empty()) {
        notes.push_back("not pruned: choosing tokens would cost about as much as it saves on this model");
        return none;
    }
    notes.push_back(
        "pruning this model saves about as much as choosing the tokens costs; it may not be faster");
    return run;
}

Result<PositionRule> position_rule(const std::string& mode, const methods::MethodRun* run) {
    if (mode == "keep") return PositionRule::Keep;
    if (mode == "compact") return PositionRule::Compact;
    if (mode != "official") {
        return invalid("there is no position mode '" + mode + "'; there are official, keep, compact");
    }
    const bool compacts = run != nullptr && run->program().positions == methods::Positions::Compact;
    return compacts ? PositionRule::Compact : PositionRule::Keep;
}

}  // namespace clasp::engine
