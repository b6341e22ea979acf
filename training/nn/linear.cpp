#include "nn/linear.h"

#include <cmath>

#include "nn/gemm.h"
#include "nn/kernels.h"

namespace clasp::training {

Linear add_linear(ParamStore& store, const std::string& name, int inputs, int outputs, bool has_bias,
                  float gain) {
    Linear layer;
    layer.inputs = inputs;
    layer.outputs = outputs;
    layer.has_bias = has_bias;
    layer.weight =
        store.add_normal(name + ".weight", outputs, inputs, gain / std::sqrt(static_cast<float>(inputs)));
    if (has_bias) layer.bias = store.add_constant(name + ".bias", 1, outputs, 0.0F);
    return layer;
}

void linear(const ParamStore& store, const Linear& layer, const float* x, float* y, int rows,
            bool accumulate) {
    gemm_nt(rows, layer.outputs, layer.inputs, x, layer.inputs, store.value(layer.weight), layer.inputs, y,
            layer.outputs, accumulate ? 1.0F : 0.0F);
    if (layer.has_bias) add_bias(y, store.value(layer.bias), rows, layer.outputs);
}

void linear_backward(ParamStore& store, const Linear& layer, const float* x, const float* dy, float* dx,
                     int rows) {
    gemm_tn(layer.outputs, layer.inputs, rows, dy, layer.outputs, x, layer.inputs, store.grad(layer.weight),
            layer.inputs, 1.0F);
    if (layer.has_bias) add_bias_backward(dy, store.grad(layer.bias), rows, layer.outputs);
    if (dx != nullptr)
        gemm_nn(rows, layer.inputs, layer.outputs, dy, layer.outputs, store.value(layer.weight), layer.inputs,
                dx, layer.inputs);
}

}  // namespace clasp::training
