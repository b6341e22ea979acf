// Fully connected layers over a parameter store.
#pragma once

#include "nn/params.h"

namespace clasp::training {

struct Linear {
    ParamId weight = 0;  // outputs x inputs
    ParamId bias = 0;
    bool has_bias = false;
    int inputs = 0;
    int outputs = 0;
};

// Weights are normal with deviation gain / sqrt(inputs); the bias starts at 0.
Linear add_linear(ParamStore& store, const std::string& name, int inputs, int outputs, bool has_bias,
                  float gain = 1.0F);

// y = x W^T + b, or y += ... when `accumulate`.
void linear(const ParamStore& store, const Linear& layer, const float* x, float* y, int rows,
            bool accumulate = false);

// Adds to the gradients of weight and bias; writes dx unless it is null.
void linear_backward(ParamStore& store, const Linear& layer, const float* x, const float* dy, float* dx,
                     int rows);

}  // namespace clasp::training
