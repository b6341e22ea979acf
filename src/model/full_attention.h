// Attention of every row to every row, without a mask, as vision towers need it (attention_tile.h). Results
// do not depend on how the work is split over threads.
#pragma once

#include <cstddef>

#include "model/kernel_set.h"

namespace clasp::model {

struct FullAttention {
    std::size_t n_heads = 0;
    std::size_t head_width = 0;
    float scale = 1.0F;

    // The processor has the kernel, and it can hold rows of this shape.
    [[nodiscard]] bool fits(std::size_t n_rows) const;

    // Below, qkv has n_rows rows of n_heads * head_width queries, as many keys and as many values.

    // Floats that packed keys and values take.
    [[nodiscard]] std::size_t packed_size(std::size_t n_rows) const;
    // Packs part `part` of `n_parts`; all parts must be done before attend().
    void pack(const float* qkv, std::size_t n_rows, std::size_t part, std::size_t n_parts,
              float* packed) const;
    // y: n_rows rows of n_heads * head_width. kernels: not Scalar; all give the same bits.
    void attend(const float* qkv, const float* packed, std::size_t n_rows, std::size_t part,
                std::size_t n_parts, float* y, KernelSet kernels = fastest_kernels()) const;
};

}  // namespace clasp::model
