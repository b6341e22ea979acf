// An answer with all that is known about it, as the contract's JSON.
#pragma once

#include <string>

#include "base/json.h"
#include "clasp/engine.h"

namespace clasp::request {

base::Json answer_json(const Answer& answer, const std::string& model_name);
base::Json timings_json(const AskTimings& timings);

}  // namespace clasp::request
