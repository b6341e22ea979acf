#include "model/linear.h"

#include <array>
#include <cstddef>

#include "model/quant_nodes.h"

namespace clasp::model {

namespace {

// ggml hands custom operations one pointer and no typed parameters; the matrix is the pointer and the
// number of rows is read from the operands. bias is the second operand of a product.

void pack_rows(ggml_tensor* packed, int part, int n_parts, void* /*matrix*/) {
    const ggml_tensor* x = packed->src[0];
    PackedMatrix::pack_rows(static_cast<const float*>(x->data), static_cast<std::size_t>(x->ne[0]),
                            static_cast<std::size_t>(x->ne[1]), static_cast<std::size_t>(part),
                            static_cast<std::size_t>(n_parts), packed->data);
}

template <Epilogue epilogue>
void multiply(ggml_tensor* y, int part, int n_parts, void* matrix) {
    const ggml_tensor* packed = y->src[0];
    const ggml_tensor* bias = y->src[1];
    static_cast<const PackedMatrix*>(matrix)->multiply(
        packed->data, static_cast<std::size_t>(y->ne[1]),
        bias != nullptr ? static_cast<const float*>(bias->data) : nullptr, epilogue,
        static_cast<std::size_t>(part), static_cast<std::size_t>(n_parts), static_cast<float*>(y->data));
}

ggml_custom_op_t multiply_with(Epilogue epilogue) {
    switch (epilogue) {
        case Epilogue::None: return multiply<Epilogue::None>;
        case Epilogue::QuickGelu: return multiply<Epilogue::QuickGelu>;
        case Epilogue::Gelu: return multiply<Epilogue::Gelu>;
    }
    return multiply<Epilogue::None>;
}

ggml_tensor* build_packed(ggml_context* context, const Linear& linear, ggml_tensor* x, Epilogue epilogue) {
    const PackedMatrix& matrix = *linear.packed;
    // ggml's custom operations take a pointer to data that they may change; this one does not.
    void* user = const_cast<PackedMatrix*>(&matrix);
    const std::size_t bytes =
        PackedMatrix::packed_rows_bytes(matrix.n_inputs(), static_cast<std::size_t>(x->ne[1]));
    ggml_tensor* packed = ggml_custom_4d(context, GGML_TYPE_I8, static_cast<std::int64_t>(bytes), 1, 1, 1, &x,
                                         1, pack_rows, GGML_N_TASKS_MAX, nullptr);
    std::array<ggml_tensor*, 2> operands = {packed, linear.bias};
    return ggml_custom_4d(context, GGML_TYPE_F32, static_cast<std::int64_t>(matrix.n_outputs()), x->ne[1], 1,
                          1, operands.data(), linear.bias != nullptr ? 2 : 1, multiply_with(epilogue),
                          GGML_N_TASKS_MAX, user);
}

ggml_tensor* activate(ggml_context* context, ggml_tensor* x, LinearActivation activation) {
    switch (activation) {
        case LinearActivation::None: return x;
        case LinearActivation::QuickGelu: return ggml_gelu_quick(context, x);
        case LinearActivation::Gelu: return ggml_gelu_erf(context, x);
        case LinearActivation::TanhGelu: return ggml_gelu(context, x);
        case LinearActivation::Silu: return ggml_silu(context, x);
    }
    return x;
}

}  // namespace

ggml_tensor* build_linear(ggml_context* context, const Linear& linear, ggml_tensor* x,
                          LinearActivation activation) {
    if (linear.quant != nullptr) {
        ggml_tensor* rows = build_quant_rows(context, x, linear.quant->format());
        return activate(context, build_quant_product(context, *linear.quant, rows, x->ne[1], linear.bias),
                        activation);
    }
    if (linear.packed == nullptr) {
        ggml_tensor* y = ggml_mul_mat(context, linear.weight, x);
        if (linear.bias != nullptr) {
            ggml_tensor* bias = linear.bias;  // that of stacked matrices is loaded as rows of parts
            if (ggml_n_dims(bias) > 1) bias = ggml_reshape_1d(context, bias, ggml_nelements(bias));
            y = ggml_add(context, y, bias);
        }
        return activate(context, y, activation);
    }
    switch (activation) {
        case LinearActivation::QuickGelu: return build_packed(context, linear, x, Epilogue::QuickGelu);
        case LinearActivation::Gelu: return build_packed(context, linear, x, Epilogue::Gelu);
        default: return activate(context, build_packed(context, linear, x, Epilogue::None), activation);
    }
}

}  // namespace clasp::model
