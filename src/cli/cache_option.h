// --cache: the folder that keeps vision layers between runs.
#pragma once

#include <string>
#include <string_view>

#include "clasp/status.h"
#include "cli/arguments.h"
#include "cli/option.h"

namespace clasp::cli {

// The word for the usual folder, ${XDG_CACHE_HOME:-~/.cache}/clasp/features.
inline constexpr std::string_view kUsualCache = "auto";

Option cache_option(std::string_view help);

// The folder; empty when none is asked for. Error: there is no home to have the usual one in.
Result<std::string> read_cache_option(const Arguments& arguments);

}  // namespace clasp::cli
