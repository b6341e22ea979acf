// From what --model and --mmproj say to the two files of a model.
#pragma once

#include <string>
#include <vector>

#include "clasp/policy.h"
#include "clasp/status.h"
#include "cli/arguments.h"
#include "cli/option.h"

namespace clasp::cli {

struct ModelFiles {
    std::string name;  // as reports show it
    std::string model;
    std::string mmproj;
};

// The options --model and --mmproj, for every command that loads a model.
std::vector<Option> model_options();
// Wrong usage: a file without its other half, or a name that no model has.
Status check_model_options(const Arguments& arguments);
// --policy, for commands that ask a model questions.
Option policy_option(std::string_view help);
// The policy of --policy; without it the one that the engine will use, found by its rule before the model is
// loaded.
Result<Policy> read_policy_option(const Arguments& arguments);
// The files of a model that comes with the program, or those given. Error: not_found.
Result<ModelFiles> find_model_files(const Arguments& arguments);
// Models that come with the program: the files of one, and the names of all. Error: not_found with the names.
Result<ModelFiles> find_named_model(const std::string& model);
std::vector<std::string> model_names();

}  // namespace clasp::cli
