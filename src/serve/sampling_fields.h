// How an answer is written, out of the fields that APIs share.
#pragma once

#include <string_view>
#include <vector>

#include "clasp/engine.h"
#include "serve/chat_request.h"
#include "serve/fields.h"

namespace clasp::serve {

// "max_tokens" and the like, by the names that an API has for them; the first that is there counts.
Check read_max_tokens(const Fields& fields, const std::vector<std::string_view>& names,
                      const RequestLimits& limits, ChatRequest& chat, GenerationOptions& generation);
// temperature, top_p, top_k, min_p, seed, penalties, logit_bias, ignore_eos.
Check read_sampling(const Fields& fields, GenerationOptions& generation);
// "stop" by the name that an API has for it.
Check read_stop(const Fields& fields, std::string_view name, GenerationOptions& generation);
// logprobs, true or false, and top_logprobs.
Check read_logprobs(const Fields& fields, GenerationOptions& generation);
// response_format, or llama-server's json_schema and grammar.
Check read_format(const Fields& fields, GenerationOptions& generation);
// A JSON schema; any object for one that is null. place: its name in messages.
Check use_schema(const base::Json& schema, const std::string& place, GenerationOptions& generation);

// Settings of a request as llama-server tells them.
base::Json generation_json(const GenerationOptions& generation);

}  // namespace clasp::serve
