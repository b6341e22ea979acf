// The folder that keeps vision layers between runs.
#pragma once

#include <string>
#include <string_view>

#include "clasp/status.h"

namespace clasp::request {

// The word for the usual folder, ${XDG_CACHE_HOME:-~/.cache}/clasp/features.
inline constexpr std::string_view kUsualCache = "auto";

// A folder, or that word. Error: there is no home to have the usual one in.
Result<std::string> cache_folder(const std::string& word);

}  // namespace clasp::request
