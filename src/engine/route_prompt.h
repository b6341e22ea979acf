// What the language-model router says to a chat model and what it lets it answer. Text only, no model.
#pragma once

#include <string>
#include <vector>

#include "clasp/route.h"

namespace clasp::engine {

// Lists the intents with their descriptions and asks for one JSON object.
std::string router_system_text(const std::vector<RouteIntent>& intents);

// Every answer there may be, one per intent and in their order: {"intent": "counting"}. None is the
// beginning of another.
std::vector<std::string> router_answers(const std::vector<RouteIntent>& intents);

}  // namespace clasp::engine
