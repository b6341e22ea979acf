// Row-wise operations with hand-written backward passes. Matrices are row-major, `rows` x `width`.
// Backward functions add to parameter gradients and overwrite input gradients unless said.
#pragma once

#include <cstdint>
#include <span>

namespace clasp::training {

// y = (x - mean) / deviation * w + b; stats receives mean and 1/deviation per row.
void layer_norm(const float* x, const float* w, const float* b, float* y, float* stats, int rows, int width,
                float epsilon);
// Adds the input gradient to dx (the residual stream's gradient).
void layer_norm_backward(const float* x, const float* w, const float* stats, const float* dy, float* dx,
                         float* dw, float* db, int rows, int width);

// y = x / rms * w; stats receives 1/rms per row.
void rms_norm(const float* x, const float* w, float* y, float* stats, int rows, int width, float epsilon);
// Adds the input gradient to dx.
void rms_norm_backward(const float* x, const float* w, const float* stats, const float* dy, float* dx,
                       float* dw, int rows, int width);

// x * sigmoid(1.702 x), CLIP's activation.
void quick_gelu(const float* x, float* y, std::size_t count);
void quick_gelu_backward(const float* x, float* dy_to_dx, std::size_t count);

// The exact GELU of LLaVA's projector.
void gelu(const float* x, float* y, std::size_t count);
void gelu_backward(const float* x, float* dy_to_dx, std::size_t count);

// gate_up holds rows of [gate (width), up (width)]; y = silu(gate) * up.
void swiglu(const float* gate_up, float* y, int rows, int width);
void swiglu_backward(const float* gate_up, const float* dy, float* d_gate_up, int rows, int width);

// Rotates consecutive pairs of each head of the q and k parts of rows [q, k, v] (3 * width floats).
// `direction` +1 forward, -1 backward. Positions per row; base 10000.
void rotate_pairs(float* qkv, std::span<const int> positions, int width, int head_width, int direction);

// Adds the bias to every row; sums the rows' gradients into db.
void add_bias(float* x, const float* bias, int rows, int width);
void add_bias_backward(const float* dx, float* db, int rows, int width);

void add(float* x, const float* y, std::size_t count);

// Copies the listed rows to consecutive ones, and adds consecutive rows to the listed ones.
void gather_rows(const float* from, std::span<const int> rows, int width, float* to);
void scatter_rows(const float* from, std::span<const int> rows, int width, float* to);

// Softmax over logits[0, classes) in place (becomes probabilities); returns -log p[target].
float softmax_loss(float* logits, int classes, int target);

// Softmax of scaled scores over the allowed entries [0, prefix) and [begin, end) of a row of
// `width` entries; all others become 0.
void softmax_ranges(float* row, int prefix, int begin, int end, int width, float scale);

// d(score) = p * (dp - sum(dp * p)) * scale over a whole row, in place in dp.
void softmax_backward(const float* p, float* dp, float dot, int width, float scale);

}  // namespace clasp::training
