// Attention of every row to every row as graph nodes.
#pragma once

#include "ggml.h"
#include "model/full_attention.h"

namespace clasp::model {

// qkv: [3 * width, rows] float32, contiguous, on the CPU; attention must fit its rows and outlive the graph.
// Returns [width, rows].
ggml_tensor* build_full_attention(ggml_context* context, const FullAttention& attention, ggml_tensor* qkv);

}  // namespace clasp::model
