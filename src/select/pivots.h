// Private. Stage I of the selection (top scores) and the seeds of stage II.
#pragma once

#include <span>

#include "clasp/select.h"
#include "select/workspace.h"

namespace clasp::selection {

// Eq. pivots: marks in buffers.is_pivot the n_pivots live tokens with the highest scores.
void choose_pivots(std::span<const float> scores, std::size_t n_pivots, SelectWorkspace::Buffers& buffers);

// Eq. redundancy-inst: buffers.redundancy = largest similarity of each candidate to a pivot.
void redundancy_to_pivots(const GramView& gram, const Kernels& kernels, SelectWorkspace::Buffers& buffers);

// For K1 = 0: buffers.redundancy = cosine of each candidate to the mean direction of all candidates,
// which is sum over m of G[t][m] divided by the length of the sum; 0 if the mean has no direction.
void redundancy_to_mean(const Similarities& similarities, const Kernels& kernels,
                        SelectWorkspace::Buffers& buffers);

// Eq. app-seed-bottom: buffers.seeds = the n_seeds candidates with the lowest redundancy, shaken when
// seed is not 0. Redundancies are compared in fixed point, so that copies of different pivots tie.
void choose_seeds(std::size_t n_seeds, std::uint64_t seed, std::int32_t one,
                  SelectWorkspace::Buffers& buffers);

}  // namespace clasp::selection
