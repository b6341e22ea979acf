// Attention of a prompt's rows to the cells of its cache as graph nodes, on the CPU: masks are read once, and
// what they hide is not computed.
#pragma once

#include <cstdint>

#include "ggml.h"
#include "model/text_config.h"

namespace clasp::model {

// The processor has the kernel, and it can hold the heads of this model.
bool takes_cached_attention(const TextConfig& config);

// q: [head_width, heads, n_queries] float32, contiguous; keys and values: [kv_width, cells] float16 or
// float32, the first n_keys cells are read; mask: [n_keys, n_queries] float16, null for none. config must
// outlive the graph. Returns [query_width, n_queries].
ggml_tensor* build_cached_attention(ggml_context* context, const TextConfig& config, ggml_tensor* q,
                                    ggml_tensor* keys, ggml_tensor* values, std::int64_t n_keys,
                                    ggml_tensor* mask);

}  // namespace clasp::model
