// The options that say who names the class of a question, shared by every command that routes.
#pragma once

#include <cstddef>
#include <vector>

#include "clasp/route.h"
#include "clasp/status.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/option.h"

namespace clasp::cli {

// Of every file of questions, taxonomies and classifiers.
inline constexpr std::size_t kMaxFileBytes = std::size_t{256} << 20u;

// --router, --router-model, --router-timeout, --taxonomy, --classifier.
std::vector<Option> router_options();
// Wrong usage: a chat model without its file, or the other way round.
Status check_router_options(const Arguments& arguments);
// Reads the files that the options name; loads the chat model if there is one.
Result<RouterOptions> read_router_options(const Arguments& arguments, const Console& console);

}  // namespace clasp::cli
