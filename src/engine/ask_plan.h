// A request before anything is computed: checked, routed, cut into tokens, its pictures' headers read, its
// schedule solved. Everything that a request can be refused for on its own account is refused here.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "clasp/engine.h"
#include "clasp/status.h"
#include "engine/engine_state.h"
#include "engine/picture_input.h"
#include "engine/prompt.h"
#include "engine/request_plan.h"

namespace clasp::engine {

struct AskPlan {
    AskRequest request;  // its cancel flag and its pictures' bytes are borrowed
    Policy policy;
    RequestPlan plan;
    Prompt prompt;
    std::vector<PlannedPicture> pictures;
    RequestShape shape;
    StartedMethod started;
    PositionMode positions = PositionMode::Keep;
    std::vector<std::string> notes;  // sentences for the user
    std::vector<double> work;        // planned_work()

    // Tokens of the prompt with nothing pruned.
    [[nodiscard]] std::size_t n_prompt() const { return shape.n_visual() + shape.n_carried(); }
    // Bytes of keys and values that the prompt and the longest answer take, by the schedule.
    [[nodiscard]] std::size_t kv_bytes(const model::TextConfig& config) const;
};

DecoderShape decoder_shape(const model::TextConfig& config);

// May be called from any thread. Errors: whatever of the request cannot be.
Result<std::unique_ptr<AskPlan>> plan_ask(const EngineState& state, const AskRequest& request);

}  // namespace clasp::engine
