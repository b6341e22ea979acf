// Whether a result can be written where an option says, before minutes of work are spent on it.
#pragma once

#include <string>

#include "clasp/status.h"
#include "cli/arguments.h"
#include "cli/option.h"

namespace clasp::cli {

// A file that can be made or replaced: its folder is there and can be written to, nothing else than a
// regular file is in its place, and its ending is one of the option's. Error: invalid_argument.
Status check_output_file(const Option& option, const std::string& path);
// A folder that is there and can be written to, or that can be made with its parents.
Status check_output_folder(const Option& option, const std::string& path);

// All options that were given and write something.
Status check_output_paths(std::span<const Option> options, const Arguments& arguments);

// The ending of a path in lower case, with its point: ".png"; empty if it has none.
std::string extension_of(const std::string& path);

}  // namespace clasp::cli
