// How likely the tokens of an answer were, as OpenAI and llama-server tell it.
#pragma once

#include <vector>

#include "base/json.h"
#include "clasp/engine.h"

namespace clasp::serve {

// {"id", "token", "bytes", "logprob", "top_logprobs": [...]} of each; OpenAI's entries have no id.
base::Json logprobs_json(const std::vector<WrittenToken>& tokens, bool with_ids);

}  // namespace clasp::serve
