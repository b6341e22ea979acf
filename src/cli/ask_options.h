// The options of a request on the command line, shared by every command that asks.
#pragma once

#include <string>
#include <vector>

#include "clasp/engine.h"
#include "clasp/status.h"
#include "cli/arguments.h"
#include "cli/option.h"
#include "request/model_files.h"
#include "request/settings.h"

namespace clasp::cli {

// What the options say, the command's own defaults included; a command may have only some of the table.
// Pictures that are named among its words are there too, since they may choose the model; "-" is not read
// yet.
Result<request::Settings> read_settings(const Arguments& arguments);

// Wrong usage: options that exclude each other; a budget, schedule, policy, method or class that cannot be.
Status check_request_options(const Arguments& arguments);

// Everything of a request but its images and its question, with the policy that it will use.
Result<AskRequest> read_request(const Arguments& arguments);
// The same once the pictures are known.
Result<AskRequest> read_request(const request::Settings& settings);
EngineOptions read_engine_options(const request::Settings& settings, const request::ModelFiles& files);

// The policy of --policy; without it the one that the engine will use.
Result<Policy> read_policy_option(const Arguments& arguments, const std::vector<ImageSource>& shown = {});
// The files of --model and --mmproj, for commands that ask about pictures. Wrong usage: a name that no model
// has, a file without its other half. `shown` here and above: what the questions are about, where it is not
// among the arguments.
Result<request::ModelFiles> read_vision_model(const Arguments& arguments,
                                              const std::vector<ImageSource>& shown = {});

// Names with commas between, or "all"; each may bring options (methods::MethodChoice). An unknown
// one is refused with the names there are.
Result<std::vector<std::string>> read_method_list(const std::string& list);

}  // namespace clasp::cli
