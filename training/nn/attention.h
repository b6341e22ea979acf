// Multi-head attention over packed sequences.
#pragma once

#include <span>
#include <vector>

#include "nn/arena.h"

namespace clasp::training {

// Which keys a row may see: [0, prefix) and [begin, row]. Several questions share one picture this
// way: every question sees the picture and itself, as if it were the only one.
struct RowMask {
    int prefix = 0;
    int begin = 0;
};

struct Sequence {
    int first_row = 0;  // in the packed matrix
    int length = 0;
    std::span<const RowMask> masks;  // empty: every row sees every row of the sequence
};

struct AttentionShape {
    int width = 0;
    int heads = 0;
    int head_width() const { return width / heads; }
};

// Probabilities kept for the backward pass; one matrix per sequence and head.
struct AttentionTape {
    std::vector<float*> probabilities;
};

// qkv: rows of [q, k, v]; out: rows of `width`.
void attention(const float* qkv, float* out, std::span<const Sequence> sequences, const AttentionShape& shape,
               AttentionTape& tape, Arena& arena);

// d_qkv is overwritten.
void attention_backward(const float* qkv, const float* out, const float* d_out, float* d_qkv,
                        std::span<const Sequence> sequences, const AttentionShape& shape,
                        const AttentionTape& tape, Arena& arena);

}  // namespace clasp::training
