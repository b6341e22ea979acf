#include "clasp/schedule.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/suggest.h"
#include "base/text.h"
#include "select/schedule_published.h"
#include "select/schedule_solve.h"

namespace clasp {
namespace {

using base::format_number;
using scheduling::kPublished;
using scheduling::kPublishedVisual;
using scheduling::PublishedSchedule;

// Far beyond any model; they keep sums exact and tables small.
constexpr std::size_t kMaxVisual = std::size_t{1} << 24U;
constexpr std::size_t kMaxLayers = 4096;

Status bad(std::string message) {
    return {Code::InvalidArgument, std::move(message)};
}

std::string number(std::size_t value) {
    return std::to_string(value);
}

// The first layer that processes what a stage kept.
std::size_t effective_layer(std::size_t stage_layer, StageMode mode) {
    return mode == StageMode::Before ? stage_layer : stage_layer + 1;
}

Status check_layers(const std::vector<std::size_t>& layers, const ScheduleRequest& request) {
    for (std::size_t s = 0; s < layers.size(); ++s) {
        if (s > 0 && layers[s] <= layers[s - 1]) {
            return bad("stage layers must rise, but " + number(layers[s]) + " follows " +
                       number(layers[s - 1]));
        }
        if (layers[s] >= request.n_layers) {
            return bad("stage layer " + number(layers[s]) + " is beyond the last of " +
                       number(request.n_layers) + " decoder layers, " + number(request.n_layers - 1));
        }
        if (effective_layer(layers[s], request.stage_mode) >= request.n_layers) {
            return bad("a stage after layer " + number(layers[s]) +
                       ", the last, leaves no layer to run on the kept tokens");
        }
    }
    return {};
}

Status check_shape(const ScheduleRequest& request) {
    const std::vector<std::size_t>& shape = request.shape;
    if (shape.empty()) return {};
    if (!request.forced.empty() || !request.named.empty()) {
        return bad("a shape goes with stage layers, not with forced stages or a named schedule");
    }
    if (shape.size() != request.stage_layers.size()) {
        return bad("the shape has " + number(shape.size()) + " proportions, but " +
                   number(request.stage_layers.size()) + " stage layers are named");
    }
    for (std::size_t s = 0; s < shape.size(); ++s) {
        if (shape[s] == 0 || shape[s] > kMaxVisual) {
            return bad("the shape's proportion " + number(shape[s]) + " is not between 1 and " +
                       number(kMaxVisual));
        }
        if (s > 0 && shape[s] > shape[s - 1]) {
            return bad("the shape's proportions must not rise, but " + number(shape[s]) + " follows " +
                       number(shape[s - 1]));
        }
    }
    return {};
}

Status check_counts(const std::vector<Stage>& stages) {
    for (std::size_t s = 0; s < stages.size(); ++s) {
        if (stages[s].keep == 0) {
            return bad("the stage at layer " + number(stages[s].layer) + " keeps no token; the least is 1");
        }
        if (s > 0 && stages[s].keep > stages[s - 1].keep) {
            return bad("the stage at layer " + number(stages[s].layer) + " keeps " + number(stages[s].keep) +
                       " tokens, more than the " + number(stages[s - 1].keep) + " before it");
        }
    }
    return {};
}

// Fills in everything that follows from the stages.
Schedule finish(const ScheduleRequest& request, std::vector<Stage> stages, ScheduleSource source) {
    Schedule schedule;
    schedule.source = source;
    schedule.stage_mode = request.stage_mode;
    schedule.per_layer.assign(request.n_layers, request.n_visual);
    schedule.n_final = request.n_visual;
    for (const Stage& stage : stages) {
        schedule.n_final = std::min(schedule.n_final, stage.keep);
        const std::size_t from = effective_layer(stage.layer, request.stage_mode);
        std::fill(schedule.per_layer.begin() + static_cast<std::ptrdiff_t>(from), schedule.per_layer.end(),
                  schedule.n_final);
    }
    schedule.stages = std::move(stages);
    schedule.n_entering = schedule.per_layer.front();
    const std::size_t sum =
        std::accumulate(schedule.per_layer.begin(), schedule.per_layer.end(), std::size_t{0});
    schedule.average = static_cast<double>(sum) / static_cast<double>(request.n_layers);
    return schedule;
}

std::vector<Stage> zip(const std::vector<std::size_t>& layers, const std::vector<std::size_t>& counts) {
    std::vector<Stage> stages(layers.size());
    for (std::size_t s = 0; s < layers.size(); ++s) stages[s] = {layers[s], counts[s]};
    return stages;
}

// The published counts times n_visual / 576, rounded half up.
std::vector<std::size_t> scaled_counts(const PublishedSchedule& published, std::size_t n_visual) {
    std::vector<std::size_t> counts;
    for (const std::size_t keep : published.keep) {
        counts.push_back((2 * keep * n_visual + kPublishedVisual) / (2 * kPublishedVisual));
    }
    return counts;
}

Schedule from_published(const ScheduleRequest& request, const std::vector<std::size_t>& layers,
                        const PublishedSchedule& published) {
    const bool is_verbatim = request.n_visual == kPublishedVisual;
    Schedule schedule = finish(request, zip(layers, scaled_counts(published, request.n_visual)),
                               is_verbatim ? ScheduleSource::Published : ScheduleSource::Scaled);
    schedule.budget = static_cast<double>(published.budget) * static_cast<double>(request.n_visual) /
                      static_cast<double>(kPublishedVisual);
    schedule.note = "the published counts for a budget of " + number(published.budget) +
                    (is_verbatim ? "" : ", scaled to " + number(request.n_visual) + " visual tokens,") +
                    " average " + format_number(schedule.average, 1) + " tokens per layer";
    return schedule;
}

// A budget means a published schedule when it is the published one times n_visual / 576, as it is or
// rounded to a whole number, and every scaled count is at least 1.
const PublishedSchedule* find_published(const ScheduleRequest& request,
                                        const std::vector<std::size_t>& layers, double budget) {
    if (request.n_layers != scheduling::kPublishedLayers) return nullptr;
    if (!std::equal(layers.begin(), layers.end(), scheduling::kPublishedStages.begin(),
                    scheduling::kPublishedStages.end())) {
        return nullptr;
    }
    for (const PublishedSchedule& published : kPublished) {
        const double scaled =
            static_cast<double>(published.budget * request.n_visual) / static_cast<double>(kPublishedVisual);
        const bool is_same = std::abs(budget - scaled) <= 1e-9 * scaled || budget == std::round(scaled);
        if (is_same && scaled_counts(published, request.n_visual).back() > 0) return &published;
    }
    return nullptr;
}

Result<Schedule> solved_schedule(const ScheduleRequest& request, const std::vector<std::size_t>& layers,
                                 double budget) {
    scheduling::SolveProblem problem;
    problem.n_visual = request.n_visual;
    problem.budget = budget;
    problem.n_full_layers = effective_layer(layers.front(), request.stage_mode);
    for (std::size_t s = 0; s < layers.size(); ++s) {
        const std::size_t next =
            s + 1 < layers.size() ? effective_layer(layers[s + 1], request.stage_mode) : request.n_layers;
        problem.spans.push_back(next - effective_layer(layers[s], request.stage_mode));
    }
    for (const std::size_t part : request.shape) {
        problem.shape.push_back(static_cast<double>(part) / static_cast<double>(request.shape.front()));
    }
    const double smallest = problem.smallest_budget();
    if (budget < smallest * (1.0 - 1e-12)) {
        return bad("a budget of " + format_number(budget) +
                   " is impossible: " + number(problem.n_full_layers) + " of " + number(request.n_layers) +
                   " layers run on all " + number(request.n_visual) +
                   " visual tokens and the others on at least 1; the smallest possible budget is " +
                   format_number(std::ceil(smallest * 100.0 - 1e-9) / 100.0));
    }
    Schedule schedule =
        finish(request, zip(layers, scheduling::solve_counts(problem)), ScheduleSource::Solved);
    schedule.budget = budget;
    if (std::abs(schedule.average - budget) > scheduling::kSolveTolerance * budget) {
        schedule.note = "whole tokens allow no average nearer to " + format_number(budget) + " than " +
                        format_number(schedule.average);
    }
    return schedule;
}

Result<std::vector<std::size_t>> stage_layers_of(const ScheduleRequest& request) {
    if (!request.stage_layers.empty()) return request.stage_layers;
    CLASP_ASSIGN_OR_RETURN(std::vector<std::size_t> layers, default_stage_layers(request.n_layers));
    CLASP_RETURN_IF_ERROR(check_layers(layers, request));
    return layers;
}

Result<Schedule> named_schedule(const ScheduleRequest& request) {
    const auto* found = std::find_if(kPublished.begin(), kPublished.end(), [&](const PublishedSchedule& p) {
        return base::is_same_name(p.name, request.named);
    });
    if (found == kPublished.end()) return find_schedule_name(request.named).status();
    if (request.n_visual == 0) return finish(request, {}, ScheduleSource::None);
    CLASP_ASSIGN_OR_RETURN(const std::vector<std::size_t> layers, stage_layers_of(request));
    if (layers.size() != found->keep.size()) {
        return bad("schedule " + request.named + " has 3 stages, but " + number(layers.size()) +
                   " stage layers are named");
    }
    if (scaled_counts(*found, request.n_visual).back() == 0) {
        return bad("schedule " + request.named + " scaled to " + number(request.n_visual) +
                   " visual tokens would keep none after its last stage");
    }
    return from_published(request, layers, *found);
}

// The average that is asked for.
Result<double> resolve_budget(const ScheduleRequest& request) {
    const double value = request.budget.value;
    if (request.budget.kind == BudgetSpec::Kind::Percent) {
        if (!(value > 0.0 && value <= 100.0)) {
            return bad("a budget of " + format_number(value) + "% is not above 0 and at most 100%");
        }
        return value * static_cast<double>(request.n_visual) / 100.0;
    }
    if (!(value > 0.0) || !std::isfinite(value)) {
        return bad("a budget of " + format_number(value) + " tokens is not a finite number above 0");
    }
    return value;
}

Result<Schedule> budget_schedule(const ScheduleRequest& request) {
    if (request.budget.kind == BudgetSpec::Kind::None) return finish(request, {}, ScheduleSource::None);
    if (request.budget.kind == BudgetSpec::Kind::Auto) {
        return bad("budget 'auto' has to be decided before a schedule can be made");
    }
    CLASP_ASSIGN_OR_RETURN(const double budget, resolve_budget(request));
    if (budget >= static_cast<double>(request.n_visual)) {
        Schedule schedule = finish(request, {}, ScheduleSource::None);
        schedule.budget = budget;
        schedule.note = "a budget of " + format_number(budget) + " is not below the " +
                        number(request.n_visual) + " visual tokens, so none is dropped";
        return schedule;
    }
    CLASP_ASSIGN_OR_RETURN(const std::vector<std::size_t> layers, stage_layers_of(request));
    const PublishedSchedule* published =
        request.shape.empty() ? find_published(request, layers, budget) : nullptr;
    if (published != nullptr) {
        Schedule schedule = from_published(request, layers, *published);
        schedule.budget = budget;
        return schedule;
    }
    return solved_schedule(request, layers, budget);
}

}  // namespace

std::string_view source_name(ScheduleSource source) {
    switch (source) {
        case ScheduleSource::None: return "none";
        case ScheduleSource::Published: return "published";
        case ScheduleSource::Scaled: return "scaled";
        case ScheduleSource::Solved: return "solved";
        case ScheduleSource::Forced: return "forced";
    }
    return "none";
}

Result<std::vector<std::size_t>> default_stage_layers(std::size_t n_layers) {
    const auto& published = scheduling::kPublishedStages;
    if (n_layers >= 24) return std::vector<std::size_t>(published.begin(), published.end());
    if (n_layers < 4) {
        return bad("a decoder of " + number(n_layers) +
                   " layers has no room for three stages; name the stage layers");
    }
    std::vector<std::size_t> layers;
    for (const std::size_t layer : published) {
        const std::size_t at =
            (2 * layer * n_layers + scheduling::kPublishedLayers) / (2 * scheduling::kPublishedLayers);
        layers.push_back(std::max(at, layers.empty() ? 1 : layers.back() + 1));
    }
    return layers;
}

Result<Schedule> make_schedule(const ScheduleRequest& request) {
    if (request.n_layers == 0 || request.n_layers > kMaxLayers) {
        return bad("a decoder of " + number(request.n_layers) + " layers is not between 1 and " +
                   number(kMaxLayers));
    }
    if (request.n_visual > kMaxVisual) {
        return Status(Code::TooLarge, number(request.n_visual) +
                                          " visual tokens are more than the limit of " + number(kMaxVisual));
    }
    CLASP_RETURN_IF_ERROR(check_shape(request));
    if (!request.forced.empty()) {
        if (!request.stage_layers.empty() || !request.named.empty()) {
            return bad("forced stages cannot be combined with stage layers or a named schedule");
        }
        std::vector<std::size_t> layers;
        for (const Stage& stage : request.forced) layers.push_back(stage.layer);
        CLASP_RETURN_IF_ERROR(check_layers(layers, request));
        CLASP_RETURN_IF_ERROR(check_counts(request.forced));
        return finish(request, request.forced, ScheduleSource::Forced);
    }
    CLASP_RETURN_IF_ERROR(check_layers(request.stage_layers, request));
    return request.named.empty() ? budget_schedule(request) : named_schedule(request);
}

}  // namespace clasp
