// Attention of a few rows at a time to keys and values packed once per head: in float32, block by block of
// keys with a running maximum, so that a row of any length needs little memory and keys that are hidden from
// all rows of a tile cost nothing. What a row gets does not depend on the rows beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/kernel_set.h"

namespace clasp::model {

inline constexpr std::size_t kTileRows = 6;

// Keys and values of one head.
struct PackedHead {
    // Floats that n_keys take.
    static std::size_t size(std::size_t n_keys, std::size_t head_width);
    // Whether heads of this width can be packed, and the processor has the kernels.
    static bool fits(std::size_t head_width);

    float* data =
        nullptr;  // borrowed; [panel of keys][head_width][panel], then [panel of columns][key][panel]
    std::size_t n_keys = 0;
    std::size_t head_width = 0;

    // Fills in what stands behind the last key. Once, before the rows.
    void clear_padding() const;
    void set(std::size_t row, const float* key, const float* value) const;
};

// Rows of one head.
struct AttentionTile {
    const float* query[kTileRows] = {};
    float* y[kTileRows] = {};
    // Half-precision biases of the row's logits, one for each key, -inf where it is hidden; null for none.
    const std::uint16_t* mask[kTileRows] = {};
    std::size_t n_rows = 0;
};

// y = softmax(scale query keys^T + mask) values; 0 where every key is hidden. All kernels but Scalar, which
// there is none of, give the same bits. scale > 0.
void attend_tiles(std::span<const AttentionTile> tiles, const PackedHead& head, float scale,
                  KernelSet kernels);

}  // namespace clasp::model
