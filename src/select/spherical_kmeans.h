// Private. Spherical k-means inside the Gram matrix (Eqs. kmeans-assign, kmeans-update): a centre is
// known by the similarity of every candidate to the sum of its members and by the length of that sum.
#pragma once

#include <cstdint>
#include <vector>

#include "clasp/thread_pool.h"
#include "select/workspace.h"

namespace clasp::selection {

// Starts from buffers.seeds, one cluster each in that order. Leaves assignment, members, centre_rows
// and centre_scales in buffers; appends J (Eq. kmeans-obj) after each iteration to objective. Returns
// the number of iterations run. max_iterations is at least 1.
std::uint32_t spherical_kmeans(const Similarities& similarities, std::uint32_t max_iterations,
                               const Kernels& kernels, ThreadPool* pool, SelectWorkspace::Buffers& buffers,
                               std::vector<double>& objective);

}  // namespace clasp::selection
