// Stress tools for routing, as in the paper's robustness tables: what happens downstream when a share
// of the questions is sent to Default, or misrouted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "clasp/status.h"

namespace clasp::route {

// Classes are positions 0 .. n_classes - 1 here, not ids.

// Sends round(ratio * n) of the questions to the default class; which ones depends on the seed only,
// and a larger ratio contains the choice of a smaller one. InvalidArgument unless 0 <= ratio <= 1.
Result<std::vector<std::size_t>> force_default(std::span<const std::size_t> classes,
                                               std::size_t default_class, double ratio, std::uint64_t seed);

// Gives round(ratio * n) of the questions a wrong class that is not the default, evenly among those.
// InvalidArgument unless 0 <= ratio <= 1, every class is below n_classes and a wrong class exists.
Result<std::vector<std::size_t>> force_errors(std::span<const std::size_t> classes, std::size_t n_classes,
                                              std::size_t default_class, double ratio, std::uint64_t seed);

}  // namespace clasp::route
