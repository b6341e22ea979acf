// The training half of the route command.
#pragma once

#include <cstddef>

#include "cli/command.h"

namespace clasp::cli {

// Of every file the command reads.
inline constexpr std::size_t kMaxFileBytes = std::size_t{256} << 20u;

Status check_route_train(const Arguments& arguments);
Status run_route_train(const Arguments& arguments, Console& console);

}  // namespace clasp::cli
