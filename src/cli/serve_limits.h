// The rest of the server's limits, each by its name: --limit header-time=5.
#pragma once

#include <string>

#include "clasp/status.h"
#include "serve/limits.h"

namespace clasp::cli {

// "NAME=VALUE". Error (invalid_argument): a name that there is not, with those there are; a value outside its
// range.
Status set_limit(const std::string& text, serve::HttpLimits& http, serve::RequestLimits& requests);

// "header-time (1 to 600, default 10), ...", for help.
std::string limit_names();

}  // namespace clasp::cli
