#include "model/full_attention.h"

#include <algorithm>
#include <array>
#include <span>

#include "model/attention_tile.h"

namespace clasp::model {

namespace {

PackedHead head_of(const FullAttention& shape, float* packed, std::size_t head, std::size_t n_rows) {
    return {packed + head * PackedHead::size(n_rows, shape.head_width), n_rows, shape.head_width};
}

}  // namespace

bool FullAttention::fits(std::size_t n_rows) const {
    return n_rows > 0 && PackedHead::fits(head_width);
}

std::size_t FullAttention::packed_size(std::size_t n_rows) const {
    return n_heads * PackedHead::size(n_rows, head_width);
}

void FullAttention::pack(const float* qkv, std::size_t n_rows, std::size_t part, std::size_t n_parts,
                         float* packed) const {
    const std::size_t width = n_heads * head_width;
    for (std::size_t head = n_heads * part / n_parts; head < n_heads * (part + 1) / n_parts; ++head) {
        const PackedHead to = head_of(*this, packed, head, n_rows);
        to.clear_padding();
        for (std::size_t row = 0; row < n_rows; ++row) {
            const float* key = qkv + row * 3 * width + width + head * head_width;
            to.set(row, key, key + width);
        }
    }
}

void FullAttention::attend(const float* qkv, const float* packed, std::size_t n_rows, std::size_t part,
                           std::size_t n_parts, float* y, KernelSet kernels) const {
    constexpr std::size_t kTilesAtOnce = 16;
    const std::size_t width = n_heads * head_width;
    const std::size_t n_tiles = (n_rows + kTileRows - 1) / kTileRows;
    const std::size_t n_items = n_heads * n_tiles;
    const std::size_t end = n_items * (part + 1) / n_parts;
    std::array<AttentionTile, kTilesAtOnce> tiles;
    for (std::size_t item = n_items * part / n_parts; item < end;) {
        const std::size_t head = item / n_tiles;
        const std::size_t n = std::min({kTilesAtOnce, end - item, (head + 1) * n_tiles - item});
        for (std::size_t i = 0; i < n; ++i) {
            const std::size_t first = (item + i) % n_tiles * kTileRows;
            tiles[i].n_rows = std::min(kTileRows, n_rows - first);
            for (std::size_t row = 0; row < tiles[i].n_rows; ++row) {
                tiles[i].query[row] = qkv + (first + row) * 3 * width + head * head_width;
                tiles[i].y[row] = y + (first + row) * width + head * head_width;
            }
        }
        // Packed keys are only read from here on.
        attend_tiles(std::span(tiles).first(n), head_of(*this, const_cast<float*>(packed), head, n_rows),
                     scale, kernels);
        item += n;
    }
}

}  // namespace clasp::model
