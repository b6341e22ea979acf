// What a request settles before anything is computed: class, mix, split, method, masses.
#pragma once

#include <string>
#include <vector>

#include "clasp/engine.h"
#include "clasp/route.h"
#include "methods/method.h"
#include "model/vision_types.h"

namespace clasp::engine {

struct RequestPlan {
    ClassChoice chosen_class;
    Mix mix;
    double split = 0.0;
    const methods::Method* method = nullptr;
    MassRule mass = MassRule::None;
    bool prunes = true;              // false: vanilla or a budget of "none"
    std::vector<std::string> notes;  // sentences for the user
    double route_ms = 0.0;
};

// Errors: an unknown class or method, options that contradict each other, a mix that the tower cannot
// give.
Result<RequestPlan> plan_request(const AskRequest& request, const Policy& policy, const Router& router,
                                 const model::VisionInfo& vision);

// The schedule for n_visual tokens: the request's own, else the policy's rule with the request's budget.
// "auto" prunes only where it saves more than choosing costs.
Result<Schedule> plan_schedule(const AskRequest& request, const Policy& policy, const RequestPlan& plan,
                               std::size_t n_visual, const DecoderShape& shape, std::size_t n_text,
                               std::vector<std::string>& notes);

}  // namespace clasp::engine
