// Integer products of quant_matrix.h as nodes of a graph on the CPU: rows are rounded once, then multiplied.
#pragma once

#include "ggml.h"
#include "model/quant_matrix.h"

namespace clasp::model {

// The rows of x, [inputs, n] float32 with contiguous rows, rounded to bytes for weights of this format. Every
// matrix of the same kind of rows may take them.
ggml_tensor* build_quant_rows(ggml_context* context, ggml_tensor* x, const QuantFormat& format);

// [outputs, n] from what build_quant_rows() made of n rows. bias: as many values as outputs, or null. The
// matrix is borrowed until the graph has run.
ggml_tensor* build_quant_product(ggml_context* context, const QuantMatrix& matrix, ggml_tensor* rows,
                                 std::int64_t n_rows, ggml_tensor* bias);

}  // namespace clasp::model
