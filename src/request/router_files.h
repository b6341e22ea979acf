// From what the router's options name to a router.
#pragma once

#include <cstddef>

#include "clasp/route.h"
#include "clasp/status.h"
#include "request/settings.h"

namespace clasp::request {

// Of every file of questions, taxonomies and classifiers.
inline constexpr std::size_t kMaxFileBytes = std::size_t{256} << 20U;

// Reads the files; whoever has an engine adds the chat model of "llm".
Result<RouterOptions> read_router_files(const RouterSettings& settings);

}  // namespace clasp::request
