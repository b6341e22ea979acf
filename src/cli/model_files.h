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
    std::string policy;  // file of the model's own policy; empty if it has none
};

// The options --model and --mmproj, for every command that loads a model.
std::vector<Option> model_options();
// Wrong usage: a file without its other half.
Status check_model_options(const Arguments& arguments);
// --policy, for commands that ask a model questions.
Option policy_option(std::string_view help);
// The policy of --policy; without it the model's own, or the profile `llava` if it has none.
Result<Policy> read_policy_option(const Arguments& arguments);
// The files of a model that comes with the program, or those given. Error: not_found.
Result<ModelFiles> find_model_files(const Arguments& arguments);

}  // namespace clasp::cli
