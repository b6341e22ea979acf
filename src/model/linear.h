// y = activation(W x + b) as graph nodes, whatever form W is kept in.
#pragma once

#include <cstdint>

#include "ggml.h"
#include "model/packed_matrix.h"
#include "model/quant_matrix.h"

namespace clasp::model {

// A matrix with its bias, borrowed from whoever loaded them. Exactly one of its three forms is set.
struct Linear {
    ggml_tensor* weight = nullptr;         // [inputs, outputs]
    const PackedMatrix* packed = nullptr;  // 16-bit integers; CPU only
    const QuantMatrix* quant = nullptr;    // 8-bit integers, inputs too; CPU only
    ggml_tensor* bias = nullptr;           // as many values as outputs, float32; null: none

    // Multiplied on the CPU by kernels of our own.
    [[nodiscard]] bool is_ours() const { return weight == nullptr; }
};

enum class LinearActivation : std::uint8_t { None, QuickGelu, Gelu, TanhGelu, Silu };

// x: [inputs, n] float32, contiguous; returns [outputs, n].
ggml_tensor* build_linear(ggml_context* context, const Linear& linear, ggml_tensor* x,
                          LinearActivation activation = LinearActivation::None);

}  // namespace clasp::model
