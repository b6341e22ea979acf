// An answer with all that is known about it, as the contract's JSON.
#pragma once

#include <string>

#include "clasp/engine.h"
#include "cli/output.h"

namespace clasp::cli {

Json answer_json(const Answer& answer, const std::string& model_name);
Json timings_json(const AskTimings& timings);

}  // namespace clasp::cli
