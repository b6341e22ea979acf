// Private. The bookkeeping between the rows of a Gram matrix, the live tokens and the candidates.
#pragma once

#include <span>

#include "clasp/select.h"
#include "clasp/thread_pool.h"
#include "select/workspace.h"

namespace clasp::selection {

// Shape of the view alone: data, rows, stride.
Status check_gram(const GramView& gram);

// Live tokens are rising and below rows.
Status check_live(std::span<const TokenIndex> live, std::size_t rows);

// All entries between buffers.live_rows lie in [-1, 1] with 1 % of slack.
Status check_entries(const GramView& gram, const Kernels& kernels, ThreadPool* pool,
                     SelectWorkspace::Buffers& buffers);

// From buffers.is_pivot: pivot_rows, candidate_rows and candidate_tokens. live gives the original
// index of each local position (empty: the position itself).
void split_live(std::span<const TokenIndex> live, SelectWorkspace::Buffers& buffers);

// The candidates' part of the Gram matrix in fixed point, the diagonal exactly 1 (0 for zero vectors).
Similarities gather_similarities(const GramView& gram, const Kernels& kernels, ThreadPool* pool,
                                 SelectWorkspace::Buffers& buffers);

}  // namespace clasp::selection
