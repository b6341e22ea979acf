// The training half of the route command.
#pragma once

#include "cli/command.h"

namespace clasp::cli {

Status check_route_train(const Arguments& arguments);
Status run_route_train(const Arguments& arguments, Console& console);

}  // namespace clasp::cli
