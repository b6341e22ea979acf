// The options of a request, shared by every command that asks.
#pragma once

#include <vector>

#include "clasp/engine.h"
#include "clasp/status.h"
#include "cli/arguments.h"
#include "cli/option.h"

namespace clasp::cli {

// Budget, method, policy, class, fusion, numbers: what changes an answer.
std::vector<Option> request_options();
Option budget_kind_option();
Option position_mode_option();
Option select_seed_option();
// Threads and vision weights: what changes how fast it comes.
std::vector<Option> engine_options();
// Wrong usage: options that exclude each other; a budget, schedule, policy, method or class that cannot be.
Status check_request_options(const Arguments& arguments);

// Everything of a request but its images and its question. A command may leave out some of the options.
Result<AskRequest> read_request(const Arguments& arguments);

// Names with commas between, or "all"; each may bring options (methods::MethodChoice). An unknown
// one is refused with the names there are.
Result<std::vector<std::string>> read_method_list(const std::string& list);
EngineOptions read_engine_options(const Arguments& arguments);

}  // namespace clasp::cli
