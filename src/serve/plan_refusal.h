// Which field of a request is to blame when it cannot be planned. The engine says in a sentence what is
// wrong; programs want to know what to change.
#pragma once

#include <string>

#include "clasp/engine.h"
#include "engine/engine_state.h"
#include "serve/refusal.h"

namespace clasp::serve {

// status: why the request could not be planned. Plans it again with one choice taken back at a time, the
// first that helps is named.
Refusal refusal_of_plan(const engine::EngineState& state, const AskRequest& request, const Status& status,
                        const std::string& request_id);

// A budget beyond the visual tokens that there are. n_visual: 0 without pictures, where no budget has an
// effect.
Check check_budget(const AskRequest& request, std::size_t n_visual);

}  // namespace clasp::serve
