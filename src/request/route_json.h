// What a router decided about a question, as the contract's JSON.
#pragma once

#include "base/json.h"
#include "clasp/route.h"

namespace clasp::request {

base::Json route_json(const RouteDecision& decision, const Router& router);

// Six digits after the point: more would be noise.
double rounded_share(float value);

}  // namespace clasp::request
