// Private. Cosine similarities from raw features: G = U * transpose(U) with the rows of U normalised.
#pragma once

#include <span>

#include "clasp/select.h"
#include "clasp/thread_pool.h"
#include "select/workspace.h"

namespace clasp::selection {

// Shape of the view alone: data, rows, width, stride.
Status check_features(const FeatureView& features);

// The Gram matrix of the given rows (empty: all) in their order. The view has been checked.
Status gram_of_rows(const FeatureView& features, std::span<const TokenIndex> rows,
                    SelectWorkspace::Buffers& buffers, const Kernels& kernels, ThreadPool* pool, float* out,
                    std::size_t out_stride);

}  // namespace clasp::selection
