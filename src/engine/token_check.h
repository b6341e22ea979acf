// What a request says about tokens by their numbers, and about the grammar of its answer, before anything is
// computed.
#pragma once

#include "clasp/engine.h"
#include "clasp/status.h"
#include "model/text_model.h"

namespace clasp::engine {

// Errors (invalid_argument): a token that the vocabulary does not have, too many biases or likely tokens, a
// raw prompt with a history or a beginning of the answer, tokens outside of one, a grammar that llama.cpp
// does not take.
Status check_tokens(const AskRequest& request, const model::TextModel& model);

}  // namespace clasp::engine
