// What a request settles before anything is computed: class, mix, split, method, masses, and how many
// tokens stay where.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "clasp/engine.h"
#include "clasp/image_layout.h"
#include "clasp/route.h"
#include "engine/decoder_times.h"
#include "engine/live_rows.h"
#include "methods/method.h"
#include "model/vision_types.h"

namespace clasp::engine {

struct RequestPlan {
    ClassChoice chosen_class;
    Mix mix;
    double split = 0.0;
    const methods::Method* method = nullptr;  // null without pictures
    methods::Settings settings;
    methods::BudgetKind budget_kind = methods::BudgetKind::Average;
    MassRule mass = MassRule::None;
    bool prunes = true;              // false: vanilla or a budget of "none"
    std::vector<std::string> notes;  // sentences for the user
    double route_ms = 0.0;
};

// Errors: an unknown class or method, options that contradict each other, a mix that the tower cannot
// give.
Result<RequestPlan> plan_request(const AskRequest& request, const Policy& policy, const Router& router,
                                 const model::VisionInfo& vision);

// The same for a request without pictures: a class, and nothing to mix or to prune. A note tells what of the
// request has no effect.
Result<RequestPlan> plan_text_request(const AskRequest& request, const Policy& policy, const Router& router);

// What is known of the models, the prompt and the images' sizes before a pixel is seen.
struct RequestShape {
    std::vector<ImageLayout> images;
    std::size_t n_text = 0;
    DecoderShape decoder;
    model::VisionInfo vision;
    // Of the decoder on this machine, where "auto" has to decide and counting is not enough. Borrowed.
    DecoderTimes* times = nullptr;

    // Tokens of all images that a method can choose from.
    [[nodiscard]] std::size_t n_visual() const;
    // Tokens that no method takes away: text, and the images' fixed rows.
    [[nodiscard]] std::size_t n_carried() const;
};

struct StartedMethod {
    std::unique_ptr<methods::MethodRun> run;  // null: nothing is to be dropped
    BudgetReport budget;
    std::vector<std::string> notes;  // sentences for the user
    bool wants_times = false;        // not pruned because they are not known
};

// Whether the request's budget is "auto" and nothing else decides.
bool is_left_to_us(const AskRequest& request);

// Starts the request's method with its budget. Methods on the policy's stages get the request's own schedule,
// else the policy's rule with the request's budget; the others their own stages, or the request's. "auto"
// prunes only where the first token comes sooner, and nothing is measured to find that out. Errors: what
// make_schedule() and the method refuse; a schedule for a method that has no stages.
Result<StartedMethod> start_method(const AskRequest& request, const Policy& policy, const RequestPlan& plan,
                                   const RequestShape& shape);

// A sentence when the visual tokens that layers processed on average are clearly not those that the request
// asked for; else empty. average: without fixed rows, which no budget counts.
std::string missed_budget(const AskRequest& request, const RequestPlan& plan, const BudgetReport& report,
                          std::size_t n_visual, double average);

// "official": as in the authors' code, "keep" or "compact". Error: another word.
Result<PositionMode> position_mode(const std::string& mode, const methods::MethodRun* run);

}  // namespace clasp::engine
