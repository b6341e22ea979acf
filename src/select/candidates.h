// Private. The bookkeeping between the rows of a Gram matrix, the live tokens and the candidates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "clasp/select.h"
#include "clasp/thread_pool.h"
#include "select/workspace.h"

namespace clasp::selection {

// What stands for 1 where n similarities are added up in fixed point. 2^20 is as fine as cosines in single
// precision are exact: those of equal tokens come out as 1. Many tokens get less, so that the sum of all of
// them still fits.
std::int32_t fixed_point_one(std::size_t n);

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
