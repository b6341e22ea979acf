#include "engine/request_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/invalid.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "engine/method_fit.h"
#include "engine/visual_input.h"
#include "policy/own_mass.h"

namespace clasp::engine {

namespace {

using base::invalid;

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

Status check_generation(const GenerationOptions& generation) {
    if (generation.max_tokens > kMaxAnswerTokens) {
        return invalid("an answer of up to " + std::to_string(generation.max_tokens) +
                       " tokens is wanted, more than the limit of " + std::to_string(kMaxAnswerTokens));
    }
    if (generation.stop.size() > kMaxStops) {
        return invalid(std::to_string(generation.stop.size()) + " stop texts are more than the limit of " +
                       std::to_string(kMaxStops));
    }
    for (const std::string& stop : generation.stop) {
        if (stop.empty()) return invalid("a stop text is empty");
        if (stop.size() > kMaxStopBytes) {
            return invalid("a stop text of " + std::to_string(stop.size()) +
                           " bytes is longer than the limit of " + std::to_string(kMaxStopBytes));
        }
    }
    return ok_status();
}

Status check_together(const AskRequest& request) {
    CLASP_RETURN_IF_ERROR(check_generation(request.generation));
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

// What every request has: its class.
Result<RequestPlan> start_plan(const AskRequest& request, const Policy& policy, const Router& router) {
    CLASP_RETURN_IF_ERROR(check_together(request));
    RequestPlan plan;
    const base::Stopwatch watch;
    CLASP_ASSIGN_OR_RETURN(plan.chosen_class, choose_class(request, policy, router, plan.notes));
    plan.route_ms = watch.elapsed_ms();
    return plan;
}

// What a request says about pictures, beyond the defaults.
std::vector<std::string_view> settings_of_pictures(const AskRequest& request) {
    std::vector<std::string_view> named;
    const bool has_schedule = !request.forced_stages.empty() || !request.schedule_name.empty();
    if (request.budget != BudgetSpec() && request.budget.kind != BudgetSpec::Kind::None)
        named.emplace_back("budget");
    if (has_schedule) named.emplace_back("schedule");
    if (!request.method.empty() || !request.method_options.empty()) named.emplace_back("method");
    if (request.mass) named.emplace_back("mass");
    if (request.use_fusion) named.emplace_back("fusion");
    if (request.position_mode != AskRequest().position_mode) named.emplace_back("position mode");
    if (request.want_pictures) named.emplace_back("pictures");
    return named;
}

}  // namespace

std::size_t RequestShape::n_visual() const {
    std::size_t n = 0;
    for (const ImageLayout& image : images) n += image.n_tokens();
    return n;
}

std::size_t RequestShape::n_carried() const {
    std::size_t n = n_text;
    for (const ImageLayout& image : images) n += image.n_fixed;
    return n;
}

bool is_left_to_us(const AskRequest& request) {
    return request.budget.kind == BudgetSpec::Kind::Auto && request.forced_stages.empty() &&
           request.schedule_name.empty() && !request.vanilla;
}

Result<RequestPlan> plan_text_request(const AskRequest& request, const Policy& policy, const Router& router) {
    CLASP_ASSIGN_OR_RETURN(RequestPlan plan, start_plan(request, policy, router));
    plan.prunes = false;
    if (const std::vector<std::string_view> idle = settings_of_pictures(request); !idle.empty()) {
        plan.notes.push_back("there is no picture, so these had no effect: " + base::join(idle));
    }
    return plan;
}

Result<RequestPlan> plan_request(const AskRequest& request, const Policy& policy, const Router& router,
                                 const model::VisionInfo& vision) {
    CLASP_ASSIGN_OR_RETURN(RequestPlan plan, start_plan(request, policy, router));
    CLASP_ASSIGN_OR_RETURN(plan.method,
                           methods::find_method(request.method.empty() ? policy.method : request.method));
    CLASP_ASSIGN_OR_RETURN(plan.settings, methods::Settings::read(plan.method->name, plan.method->options,
                                                                  request.method_options));
    CLASP_ASSIGN_OR_RETURN(plan.budget_kind, methods::parse_budget_kind(request.budget_kind));
    if (request.vanilla || !request.use_fusion.value_or(plan.method->mixes_layers)) {
        plan.mix = {{vision.default_layer(request.compat), 1.0}};
    } else {
        CLASP_ASSIGN_OR_RETURN(plan.mix, mix_for(policy, plan.chosen_class.id));
        CLASP_RETURN_IF_ERROR(check_mix(plan.mix, policy, vision));
    }
    plan.split = policy.classes[plan.chosen_class.id].split;
    plan.mass = request.mass.value_or(
        clasp::policy::own_mass(*plan.method, request.method.empty() ? &policy : nullptr));
    if (plan.mass == MassRule::Nearest) CLASP_RETURN_IF_ERROR(methods::check_masses(*plan.method));
    plan.method = &methods::with_masses(*plan.method, plan.mass == MassRule::Nearest);
    const bool has_schedule = !request.forced_stages.empty() || !request.schedule_name.empty();
    plan.prunes = !request.vanilla && (has_schedule || request.budget.kind != BudgetSpec::Kind::None);
    if (!plan.prunes && !request.vanilla && !request.method.empty()) {
        plan.notes.push_back("nothing is pruned at budget none, so method '" + request.method +
                             "' had nothing to choose");
    }
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
// The published schedules average up to 4 % less than the budget they are named after; further off is another
// budget.
constexpr double kMissedShare = 0.05;

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
        // At the policy's layers if there are as many as published counts.
        if (wanted.stage_layers.size() != kPublishedProportions.size()) wanted.stage_layers.clear();
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

// The share of the prefill's work that a program saves, what choosing costs taken off.
Result<double> saved_share(const methods::Program& program, const RequestShape& shape) {
    Schedule schedule;
    schedule.per_layer = tokens_per_layer(program, shape.decoder.n_layers);
    CLASP_ASSIGN_OR_RETURN(const ScheduleCost cost,
                           schedule_cost(schedule, shape.decoder, shape.n_visual(), shape.n_carried(), 0));
    const double saved = cost.prefill_unpruned.total() - cost.prefill.total();
    const double spent =
        selection_flops(shape.n_visual(), shape.decoder, shape.n_carried(), program.stages.size());
    return (saved - spent) / cost.prefill_unpruned.total();
}

// What the user asked for, in the words of --budget and --schedule.
std::string asked_budget(const AskRequest& request) {
    if (!request.forced_stages.empty()) return to_text(request.forced_stages);
    if (!request.schedule_name.empty()) return request.schedule_name;
    return request.vanilla ? "none" : to_text(request.budget);
}

void prune_nothing(StartedMethod& started, std::string reason) {
    started.run.reset();
    started.budget.decided = "none";
    started.budget.reason = std::move(reason);
}

methods::Setup method_setup(const AskRequest& request, const Policy& policy, const RequestPlan& plan,
                            const RequestShape& shape) {
    methods::Setup setup;
    for (const ImageLayout& image : shape.images) setup.grids.push_back(method_grid(image));
    setup.n_visual = shape.n_visual();
    setup.has_tiles = std::any_of(shape.images.begin(), shape.images.end(), [](const ImageLayout& image) {
        return image.n_pieces > 1 && image.n_steps == 1;
    });
    setup.n_layers = shape.decoder.n_layers;
    setup.vision = {.n_blocks = shape.vision.n_blocks,
                    .feature_layer = shape.vision.feature_layer,
                    .width = shape.vision.width,
                    .n_heads = shape.vision.n_heads,
                    .has_class_token = shape.vision.capabilities.has_class_token};
    setup.budget = {tokens_of(request.budget, setup.n_visual), plan.budget_kind};
    setup.settings = plan.settings;
    setup.split = plan.split;
    setup.iterations = static_cast<std::uint32_t>(policy.iterations);
    return setup;
}

std::string milliseconds(double ms) {
    return base::format_number(std::round(10.0 * ms) / 10.0) + " ms";
}

struct Verdict {
    bool pays = false;
    std::string reason;
    bool wants_times = false;
};

// Counted operations decide where they suffice on any machine; else the decoder's times on this one. While
// they are not known nothing is pruned: measuring them first would make this very token later.
Verdict judge(const RequestPlan& plan, const Policy& policy, const RequestShape& shape, double share,
              const methods::Program& program) {
    const PromptCounts counts = {shape.n_visual(), shape.n_carried()};
    const bool has_masses = plan.mass == MassRule::Nearest;
    const std::string saved =
        "pruning saves about " + base::format_number(std::round(100.0 * share)) + " % of the prefill's work";
    switch (judge_by_counts(program, counts, shape.decoder, has_masses, policy.iterations)) {
        case PruningVerdict::NeverPays:
            return {.pays = false,
                    .reason = "choosing tokens would cost about as much as it saves on this model"};
        case PruningVerdict::AlwaysPays: return {.pays = true, .reason = saved};
        case PruningVerdict::Depends: break;
    }
    const auto timings = shape.times != nullptr ? shape.times->find() : std::nullopt;
    if (!timings) {
        return {.pays = false,
                .reason = saved + ", and whether that pays on this machine is measured after this answer",
                .wants_times = true};
    }
    const FirstTokenTimes times =
        predict_first_token(program, counts, shape.decoder, *timings, has_masses, policy.iterations);
    return {.pays = times.pays(),
            .reason = "reading the prompt is predicted to take " + milliseconds(times.pruned_ms) +
                      " with pruning and " + milliseconds(times.unpruned_ms) + " without on this machine"};
}

// "auto": prunes only if the first token is certain or predicted to come clearly sooner.
void decide(const RequestPlan& plan, const Policy& policy, const RequestShape& shape, double share,
            StartedMethod& started) {
    const auto [pays, reason, wants_times] = judge(plan, policy, shape, share, started.run->program());
    started.wants_times = wants_times;
    if (!pays) {
        prune_nothing(started, reason);
    } else if (started.budget.reason.empty()) {
        started.budget.decided = to_text(BudgetSpec{BudgetSpec::Kind::Percent, kAutoPercent});
        started.budget.reason = reason;
    }
    started.notes.push_back("budget auto: " + (pays ? started.budget.decided : "not pruned") + ", because " +
                            started.budget.reason);
}

// Decides whether the method that was started is worth running, and says so.
Status settle(const AskRequest& request, const RequestPlan& plan, const Policy& policy,
              const RequestShape& shape, StartedMethod& started) {
    CLASP_ASSIGN_OR_RETURN(const double share, saved_share(started.run->program(), shape));
    const std::vector<std::string> notes = started.run->program().notes;
    if (is_left_to_us(request)) decide(plan, policy, shape, share, started);
    if (started.run == nullptr) return ok_status();
    started.notes.insert(started.notes.end(), notes.begin(), notes.end());
    if (share <= kWorthwhile && !is_left_to_us(request)) {
        started.notes.emplace_back(
            "pruning this model saves about as much as choosing the tokens costs; it may not be faster");
    }
    return ok_status();
}

}  // namespace

Result<StartedMethod> start_method(const AskRequest& request, const Policy& policy, const RequestPlan& plan,
                                   const RequestShape& shape) {
    StartedMethod started;
    started.budget.asked = asked_budget(request);
    started.budget.decided = started.budget.asked;
    if (!plan.prunes) {
        prune_nothing(started, shape.images.empty() ? "there is no picture" : "");
        return started;
    }
    const std::string all_stay =
        "all " + std::to_string(shape.n_visual()) + " visual tokens fit into the budget";
    methods::Setup setup = method_setup(request, policy, plan, shape);
    if (plan.method->uses_schedule) {
        CLASP_ASSIGN_OR_RETURN(const Schedule schedule, policy_schedule(request, policy, plan, shape));
        if (!schedule.note.empty()) started.notes.push_back(schedule.note);
        if (schedule.stages.empty()) {
            prune_nothing(started, all_stay);
            return started;
        }
        setup.stages = schedule.stages;
        setup.stage_mode = schedule.stage_mode;
        const bool is_policys = request.forced_stages.empty() && request.schedule_name.empty() &&
                                plan.budget_kind == methods::BudgetKind::Average &&
                                (!policy.forced_stages.empty() || !policy.schedule_name.empty());
        if (is_policys) {
            started.budget.decided = to_text(schedule.stages);
            started.budget.reason = "policy '" + policy.name + "' fixes its schedule";
        }
    } else {
        if (!request.schedule_name.empty()) {
            return invalid("method '" + std::string(plan.method->name) +
                           "' has stages of its own; a named schedule does not fit it");
        }
        setup.stages = request.forced_stages;
        if (setup.stages.empty() && setup.budget.tokens >= static_cast<double>(setup.n_visual)) {
            prune_nothing(started, all_stay);
            return started;
        }
    }
    CLASP_ASSIGN_OR_RETURN(started.run, plan.method->start(setup));
    CLASP_RETURN_IF_ERROR(
        check_method_fit(*plan.method, started.run->program(), shape.vision.capabilities, shape.images));
    if (!request.forced_stages.empty() && started.run->program().stages.empty()) {
        return invalid("method '" + std::string(plan.method->name) +
                       "' drops tokens before the decoder; a schedule does not fit it");
    }
    CLASP_RETURN_IF_ERROR(settle(request, plan, policy, shape, started));
    return started;
}

std::string missed_budget(const AskRequest& request, const RequestPlan& plan, const BudgetReport& report,
                          std::size_t n_visual, double average) {
    const bool has_schedule = !request.forced_stages.empty() || !request.schedule_name.empty();
    const bool is_other = report.decided != report.asked && !is_left_to_us(request);  // the policy's schedule
    if (report.decided == "none" || has_schedule || is_other) return {};
    if (plan.budget_kind != methods::BudgetKind::Average) return {};
    const double asked = tokens_of(request.budget, n_visual);
    if (std::abs(average - asked) <= kMissedShare * asked) return {};
    return "the budget asks for " + base::format_number(asked, 1) +
           " visual tokens per layer on average, this run had " + base::format_number(average, 1);
}

Result<PositionMode> position_mode(const std::string& mode, const methods::MethodRun* run) {
    if (mode == "keep") return PositionMode::Keep;
    if (mode == "compact") return PositionMode::Compact;
    if (mode != "official") {
        return invalid("there is no position mode '" + mode + "'; there are official, keep, compact");
    }
    const bool compacts = run != nullptr && run->program().positions == methods::PositionMode::Compact;
    return compacts ? PositionMode::Compact : PositionMode::Keep;
}

}  // namespace clasp::engine
