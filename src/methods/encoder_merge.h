// How many tokens each block of an encoder has to merge away to end at a budget.
#pragma once

#include <cstddef>
#include <vector>

#include "clasp/status.h"

namespace clasp::methods {

// Patches left after each of n_blocks, the last being keep: as even as a limit allows. halves says that a
// block can at most halve its patches (rounded up).
// Errors: InvalidArgument when even that does not reach keep; the message states the smallest that can be.
Result<std::vector<std::size_t>> spread_over_blocks(std::size_t n_patches, std::size_t keep,
                                                    std::size_t n_blocks, bool halves);

}  // namespace clasp::methods
