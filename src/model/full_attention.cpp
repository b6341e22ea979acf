#include "model/full_attention.h"

#include <algorithm>
#include <limits>

#include "model/full_attention_kernel.h"
#include "model/packed_matrix.h"

namespace clasp::model {

namespace {

using namespace attention;

constexpr std::size_t kMaxRows = 2048;  // so that a tile's scores fit the stack

std::size_t padded(std::size_t n_rows) {
    return (n_rows + kPanel - 1) / kPanel * kPanel;
}

// Packed keys of one head: [panel of keys][head_width][kPanel], then its values: [panel of
// columns][key][kPanel].
std::size_t keys_size(const FullAttention& shape, std::size_t n_rows) {
    return padded(n_rows) * shape.head_width;
}

std::size_t head_size(const FullAttention& shape, std::size_t n_rows) {
    return keys_size(shape, n_rows) + n_rows * shape.head_width;
}

#ifdef CLASP_HAVE_X86_KERNELS

// One tile of rows of one head.
struct Tile {
    const float* query[kTile];  // rows that do not exist repeat the last one
    float* y[kTile];            // and write where nothing is read
    std::size_t n_rows = 0;     // that exist
};

using Multiply = void (*)(const Step&);
constexpr std::size_t kPanelsAtOnce = 2;

std::size_t panels_from(std::size_t column, std::size_t n_columns) {
    return std::min(kPanelsAtOnce, (n_columns - column + kPanel - 1) / kPanel);
}

void attend_tile(const FullAttention& shape, const Tile& tile, const float* packed, std::size_t n_keys,
                 Multiply multiply) {
    alignas(64) float scores[kTile * kMaxRows];
    const std::size_t stride = padded(n_keys);
    Step step;
    step.depth = shape.head_width;
    for (std::size_t key = 0; key < n_keys; key += kPanelsAtOnce * kPanel) {
        step.n_panels = panels_from(key, n_keys);
        step.b = packed + key * shape.head_width;
        for (std::size_t row = 0; row < kTile; ++row) {
            step.a[row] = tile.query[row];
            step.c[row] = scores + row * stride + key;
        }
        multiply(step);
    }
    float sums[kTile];
    for (std::size_t row = 0; row < kTile; ++row) {
        float* of_row = scores + row * stride;
        std::fill(of_row + n_keys, of_row + stride, -std::numeric_limits<float>::infinity());
        sums[row] = exponentials_avx2(of_row, stride, shape.scale);
    }
    const float* values = packed + keys_size(shape, n_keys);
    step.depth = n_keys;
    for (std::size_t column = 0; column < shape.head_width; column += kPanelsAtOnce * kPanel) {
        step.n_panels = panels_from(column, shape.head_width);
        step.b = values + column * n_keys;
        for (std::size_t row = 0; row < kTile; ++row) {
            step.a[row] = scores + row * stride;
            step.c[row] = tile.y[row] + column;
        }
        multiply(step);
    }
    for (std::size_t row = 0; row < tile.n_rows; ++row) {
        scale_avx2(tile.y[row], shape.head_width, 1.0F / sums[row]);
    }
}

#endif

}  // namespace

bool FullAttention::fits(std::size_t n_rows) const {
#ifdef CLASP_HAVE_X86_KERNELS
    return PackedMatrix::is_fast() && head_width % kPanel == 0 && head_width > 0 && head_width <= kMaxRows &&
           n_rows > 0 && n_rows <= kMaxRows;
#else
    (void)n_rows;
    return false;
#endif
}

std::size_t FullAttention::packed_size(std::size_t n_rows) const {
    return n_heads * head_size(*this, n_rows);
}

void FullAttention::pack(const float* qkv, std::size_t n_rows, std::size_t part, std::size_t n_parts,
                         float* packed) const {
    const std::size_t width = n_heads * head_width;
    for (std::size_t head = n_heads * part / n_parts; head < n_heads * (part + 1) / n_parts; ++head) {
        float* keys = packed + head * head_size(*this, n_rows);
        float* values = keys + keys_size(*this, n_rows);
        std::fill_n(keys, keys_size(*this, n_rows), 0.0F);
        for (std::size_t row = 0; row < n_rows; ++row) {
            const float* key = qkv + row * 3 * width + width + head * head_width;
            const float* value = key + width;
            float* to = keys + row / kPanel * kPanel * head_width + row % kPanel;
            for (std::size_t i = 0; i < head_width; ++i) to[i * kPanel] = key[i];
            for (std::size_t column = 0; column < head_width; column += kPanel) {
                std::copy_n(value + column, kPanel, values + column * n_rows + row * kPanel);
            }
        }
    }
}

void FullAttention::attend([[maybe_unused]] const float* qkv, [[maybe_unused]] const float* packed,
                           [[maybe_unused]] std::size_t n_rows, [[maybe_unused]] std::size_t part,
                           [[maybe_unused]] std::size_t n_parts, [[maybe_unused]] float* y,
                           [[maybe_unused]] KernelSet kernels) const {
#ifdef CLASP_HAVE_X86_KERNELS
    const std::size_t width = n_heads * head_width;
    const std::size_t n_tiles = (n_rows + kTile - 1) / kTile;
    const std::size_t n_items = n_heads * n_tiles;
    const Multiply multiply = kernels == KernelSet::Avx512 ? multiply_avx512 : multiply_avx2;
    float nowhere[kMaxRows];
    for (std::size_t item = n_items * part / n_parts; item < n_items * (part + 1) / n_parts; ++item) {
        const std::size_t head = item / n_tiles;
        const std::size_t first = item % n_tiles * kTile;
        Tile tile;
        tile.n_rows = std::min(kTile, n_rows - first);
        for (std::size_t i = 0; i < kTile; ++i) {
            const std::size_t row = std::min(first + i, n_rows - 1);
            tile.query[i] = qkv + row * 3 * width + head * head_width;
            tile.y[i] = i < tile.n_rows ? y + row * width + head * head_width : nowhere;
        }
        attend_tile(*this, tile, packed + head * head_size(*this, n_rows), n_rows, multiply);
    }
#endif
}

}  // namespace clasp::model
