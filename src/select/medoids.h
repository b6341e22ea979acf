// Private. From clusters to tokens.
#pragma once

#include "select/workspace.h"

namespace clasp::selection {

// Eq. diverse-q: buffers.chosen = of each cluster with members the one nearest to the centre.
void choose_medoids(const Similarities& similarities, SelectWorkspace::Buffers& buffers);

// Adds to buffers.chosen, until it has n_slots tokens, the candidate whose largest similarity to the
// pivots (their redundancy, if has_pivots) and to everything chosen is smallest.
void fill_slots(const Similarities& similarities, std::size_t n_slots, bool has_pivots,
                const Kernels& kernels, SelectWorkspace::Buffers& buffers);

}  // namespace clasp::selection
