// y = W x + b of a decoder as graph nodes, whatever form W is kept in.
#pragma once

#include <vector>

#include "ggml.h"
#include "model/quant_format.h"
#include "model/text_model.h"

namespace clasp::model {

// One per stretch of a graph. What several packed matrices take is rounded once.
class DecoderProducts {
   public:
    DecoderProducts(ggml_context* context, const TextWeights& weights)
        : context_(context), weights_(&weights) {}

    // x: [inputs, n] float32 with contiguous rows; returns [outputs, n]. bias: [outputs], or null.
    ggml_tensor* linear(ggml_tensor* weight, ggml_tensor* bias, ggml_tensor* x);

   private:
    struct Rounded {
        const ggml_tensor* x;
        QuantRowKind kind;
        ggml_tensor* rows;
    };

    ggml_tensor* rounded(ggml_tensor* x, const QuantFormat& format);

    ggml_context* context_;
    const TextWeights* weights_;
    std::vector<Rounded> rounded_;
};

}  // namespace clasp::model
