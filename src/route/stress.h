// Stress tools for routing, as in the paper's robustness tables: what happens downstream when a share
// of the questions is sent to Default, or misrouted, or routed by another router.
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

struct RouterDistance {
    // The paper reports a "count variance" without a formula. Ours is the mean over classes of the
    // squared difference of the two routers' counts, per thousand questions so that sets of different
    // size compare: 0 for equal distributions.
    double count_variance = 0.0;
    // Share of questions that both put into the same class: two routers can have equal counts and
    // agree on nothing.
    double agreement = 0.0;
};

// InvalidArgument if the lists differ in length, are empty or name a class beyond n_classes.
Result<RouterDistance> compare_routers(std::span<const std::size_t> a, std::span<const std::size_t> b,
                                       std::size_t n_classes);

}  // namespace clasp::route
