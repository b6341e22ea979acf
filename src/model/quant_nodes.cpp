#include "model/quant_nodes.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/quant_rows.h"

namespace clasp::model {

namespace {

// ggml hands custom operations one pointer and no typed parameters; here it is the format or the matrix.
// Shapes are read from the operands. bias is the second operand of a product.

QuantRows rows_in(const ggml_tensor* memory, std::size_t n_inputs, std::size_t n_rows,
                  const QuantFormat& format) {
    return {n_inputs, n_rows, format.rows, static_cast<std::uint8_t*>(memory->data)};
}

void round_rows(ggml_tensor* rows, int part, int n_parts, void* format) {
    const ggml_tensor* x = rows->src[0];
    rows_in(rows, static_cast<std::size_t>(x->ne[0]), static_cast<std::size_t>(x->ne[1]),
            *static_cast<const QuantFormat*>(format))
        .round(static_cast<const float*>(x->data), x->nb[1] / sizeof(float), static_cast<std::size_t>(part),
               static_cast<std::size_t>(n_parts));
}

void multiply_rows(ggml_tensor* y, int part, int n_parts, void* user) {
    const auto& matrix = *static_cast<const QuantMatrix*>(user);
    const ggml_tensor* bias = y->src[1];
    matrix.multiply(
        rows_in(y->src[0], matrix.n_inputs(), static_cast<std::size_t>(y->ne[1]), matrix.format()),
        bias != nullptr ? static_cast<const float*>(bias->data) : nullptr, static_cast<std::size_t>(part),
        static_cast<std::size_t>(n_parts), static_cast<float*>(y->data));
}

}  // namespace

// ggml's custom operations take a pointer to data that they may change; these do not.

ggml_tensor* build_quant_rows(ggml_context* context, ggml_tensor* x, const QuantFormat& format) {
    const QuantRows shape = {static_cast<std::size_t>(x->ne[0]), static_cast<std::size_t>(x->ne[1]),
                             format.rows, nullptr};
    return ggml_custom_4d(context, GGML_TYPE_I8, static_cast<std::int64_t>(shape.bytes()), 1, 1, 1, &x, 1,
                          round_rows, GGML_N_TASKS_MAX, const_cast<QuantFormat*>(&format));
}

ggml_tensor* build_quant_product(ggml_context* context, const QuantMatrix& matrix, ggml_tensor* rows,
                                 std::int64_t n_rows, ggml_tensor* bias) {
    std::array<ggml_tensor*, 2> operands = {rows, bias};
    return ggml_custom_4d(context, GGML_TYPE_F32, static_cast<std::int64_t>(matrix.n_outputs()), n_rows, 1, 1,
                          operands.data(), bias != nullptr ? 2 : 1, multiply_rows, GGML_N_TASKS_MAX,
                          const_cast<QuantMatrix*>(&matrix));
}

}  // namespace clasp::model
