// What a request settles before anything is computed: class, mix, split, method, masses, and how many
// tokens stay where.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "clasp/engine.h"
#include "clasp/route.h"
#include "engine/live_rows.h"
#include "methods/method.h"
#include "model/vision_types.h"

namespace clasp::engine {

struct RequestPlan {
    ClassChoice chosen_class;
    Mix mix;
    double split = 0.0;
    const methods::Method* method = nullptr;
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

// What is known of the models and the prompt before an image is seen.
struct RequestShape {
    std::size_t n_images = 0;
    std::size_t n_text = 0;
    DecoderShape decoder;
    model::VisionInfo vision;

    [[nodiscard]] std::size_t n_visual() const { return n_images * vision.n_tokens(); }
};

// Starts the request's method with its budget; null when nothing is to be dropped. Methods on the policy's
// stages get the request's own schedule, else the policy's rule with the request's budget; the others their
// own stages, or the request's. "auto" prunes only where it saves more than choosing costs. Errors: what
// make_schedule() and the method refuse; a schedule for a method that has no stages.
Result<std::unique_ptr<methods::MethodRun>> start_method(const AskRequest& request, const Policy& policy,
                                                         const RequestPlan& plan, const RequestShape& shape,
                                                         std::vector<std::string>& notes);

// "official": as in the authors' code, "keep" or "compact". Error: another word.
Result<PositionRule> position_rule(const std::string& mode, const methods::MethodRun* run);

}  // namespace clasp::engine
