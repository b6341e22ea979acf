#include "model/decoder_products.h"

#include "model/quant_nodes.h"

namespace clasp::model {

ggml_tensor* DecoderProducts::rounded(ggml_tensor* x, const QuantFormat& format) {
    for (const Rounded& known : rounded_) {
        if (known.x == x && known.kind == format.rows) return known.rows;
    }
    ggml_tensor* rows = build_quant_rows(context_, x, format);
    rounded_.push_back({x, format.rows, rows});
    return rows;
}

ggml_tensor* DecoderProducts::linear(ggml_tensor* weight, ggml_tensor* bias, ggml_tensor* x) {
    const QuantMatrix* matrix = weights_->packed_form(weight);
    if (matrix == nullptr) {
        ggml_tensor* y = ggml_mul_mat(context_, weight, x);
        return bias != nullptr ? ggml_add(context_, y, bias) : y;
    }
    return build_quant_product(context_, *matrix, rounded(x, matrix->format()), x->ne[1], bias);
}

}  // namespace clasp::model
