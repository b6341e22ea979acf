// From what a caller says of a model to its files and its policy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "clasp/policy.h"
#include "clasp/status.h"
#include "request/option_table.h"
#include "request/settings.h"

namespace clasp::request {

struct ModelFiles {
    std::string name;  // as reports show it
    std::string model;
    std::string mmproj;  // empty: text alone
};

// The files of a model that comes with the program, or those given. Errors: not_found (no model of that
// name), invalid_argument (a vision file for a model that brings its own).
Result<ModelFiles> find_model_files(const Settings& settings, Caller caller);
// The same for requests with pictures: a text file without its vision file is invalid_argument.
Result<ModelFiles> find_vision_model(const Settings& settings, Caller caller);

// The policy of the request; without one that of the model, found by the engine's rule before it is loaded.
Result<Policy> find_policy(const Settings& settings, Caller caller);

// Models that come with the program: the files of one, and the names of all. Error: not_found with the names,
// and what else can be given.
Result<ModelFiles> find_named_model(const std::string& model, const std::string& instead);
std::vector<std::string> model_names();

}  // namespace clasp::request
