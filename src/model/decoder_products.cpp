#include "model/decoder_products.h"

#include <array>
#include <cstddef>

#include "model/quant_matrix.h"
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

ggml_tensor* DecoderProducts::rounded(ggml_tensor* x, const QuantFormat& format) {
    for (const Rounded& known : rounded_) {
        if (known.x == x && known.kind == format.rows) return known.rows;
    }
    const QuantRows shape = {static_cast<std::size_t>(x->ne[0]), static_cast<std::size_t>(x->ne[1]),
                             format.rows, nullptr};
    // ggml's custom operations take a pointer to data that they may change; these do not.
    ggml_tensor* rows =
        ggml_custom_4d(context_, GGML_TYPE_I8, static_cast<std::int64_t>(shape.bytes()), 1, 1, 1, &x, 1,
                       round_rows, GGML_N_TASKS_MAX, const_cast<QuantFormat*>(&format));
    rounded_.push_back({x, format.rows, rows});
    return rows;
}

ggml_tensor* DecoderProducts::linear(ggml_tensor* weight, ggml_tensor* bias, ggml_tensor* x) {
    const QuantMatrix* matrix = weights_->packed_form(weight);
    if (matrix == nullptr) {
        ggml_tensor* y = ggml_mul_mat(context_, weight, x);
        return bias != nullptr ? ggml_add(context_, y, bias) : y;
    }
    std::array<ggml_tensor*, 2> operands = {rounded(x, matrix->format()), bias};
    return ggml_custom_4d(context_, GGML_TYPE_F32, weight->ne[1], x->ne[1], 1, 1, operands.data(),
                          bias != nullptr ? 2 : 1, multiply_rows, GGML_N_TASKS_MAX,
                          const_cast<QuantMatrix*>(matrix));
}

}  // namespace clasp::model
