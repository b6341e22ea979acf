// The prompt of a request as text, before it is cut into tokens.
#pragma once

#include <string>
#include <string_view>

#include "clasp/engine.h"
#include "clasp/status.h"
#include "engine/engine_state.h"
#include "engine/prompt_options.h"

namespace clasp::engine {

// How a model writes its conversations; vision may be null. One that can see writes all of them in one way.
PromptOptions prompt_options(const model::VisionModel* vision, Compat compat);

// image: what stands in place of each picture. Errors as build_prompt() has them. Not for raw prompts.
Result<std::string> prompt_text(const EngineState& state, const AskRequest& request, std::string_view image);

}  // namespace clasp::engine
