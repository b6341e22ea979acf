// Attention within segments of rows as graph nodes: every row sees the rows of its own segment, and nothing
// is computed for the others.
#pragma once

#include <cstdint>
#include <span>

#include "ggml.h"
#include "model/full_attention.h"

namespace clasp::model {

// The kernel of FullAttention takes every one of these segments. bounds: the first row of each segment, then
// the number of rows; rising.
bool takes_segments(const FullAttention& attention, std::span<const std::int32_t> bounds);

// qkv: [3 * width, rows] float32, contiguous, on the CPU. prepared: a node after which qkv is ready, such as
// a rotation in place. held_bounds: I32, holds `bounds` when the graph runs. attention must fit the segments
// and outlive the graph. Returns [width, rows].
ggml_tensor* build_segment_attention(ggml_context* context, const FullAttention& attention, ggml_tensor* qkv,
                                     ggml_tensor* prepared, ggml_tensor* held_bounds,
                                     std::span<const std::int32_t> bounds);

}  // namespace clasp::model
