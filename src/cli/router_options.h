// Who names the class of a question, for every command that routes.
#pragma once

#include "clasp/route.h"
#include "clasp/status.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "request/settings.h"

namespace clasp::cli {

// Wrong usage: a chat model without its file, or the other way round.
Status check_router_options(const Arguments& arguments);
// Reads the files that the options name; loads the chat model if there is one.
Result<RouterOptions> read_router_options(const Arguments& arguments, const Console& console);

}  // namespace clasp::cli
