// Private. From clusters to tokens.
#pragma once

#include <cstddef>
#include <cstdint>

#include "select/workspace.h"

namespace clasp::selection {

// Eq. diverse-q: buffers.chosen = of each cluster with members the one nearest to the centre.
void choose_medoids(const Similarities& similarities, SelectWorkspace::Buffers& buffers);

// The steps of fill_slots(), for similarities that come another way: marks what is chosen of n candidates;
// begins buffers.nearest, the largest similarity to anything chosen, with those to the pivots; takes the
// candidate for which it is smallest.
void mark_chosen(std::size_t n, SelectWorkspace::Buffers& buffers);
void start_nearest(std::size_t n, std::int32_t one, bool has_pivots, SelectWorkspace::Buffers& buffers);
std::uint32_t choose_farthest(SelectWorkspace::Buffers& buffers);

// Adds to buffers.chosen, until it has n_slots tokens, the candidate whose largest similarity to the
// pivots (their redundancy, if has_pivots) and to everything chosen is smallest.
void fill_slots(const Similarities& similarities, std::size_t n_slots, bool has_pivots,
                const Kernels& kernels, SelectWorkspace::Buffers& buffers);

}  // namespace clasp::selection
