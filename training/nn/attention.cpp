#include "nn/attention.h"

#include <algorithm>
#include <cmath>

#include "nn/gemm.h"
#include "nn/kernels.h"

namespace clasp::training {
namespace {

// Rows per product: with causal masks later keys are skipped, and a tile stays in the cache.
constexpr int kTile = 96;

struct Tile {
    int first = 0;
    int rows = 0;
    int keys = 0;  // keys [0, keys) cover everything that the rows may see
};

template <typename Work>
void for_tiles(const Sequence& sequence, const Work& work) {
    for (int first = 0; first < sequence.length; first += kTile) {
        const int rows = std::min(kTile, sequence.length - first);
        work(Tile{first, rows, sequence.masks.empty() ? sequence.length : first + rows});
    }
}

std::size_t area(const Sequence& sequence) {
    return static_cast<std::size_t>(sequence.length) * static_cast<std::size_t>(sequence.length);
}

}  // namespace

void attention(const float* qkv, float* out, std::span<const Sequence> sequences, const AttentionShape& shape,
               AttentionTape& tape, Arena& arena) {
    const int d = shape.width;
    const int hw = shape.head_width();
    const float scale = 1.0F / std::sqrt(static_cast<float>(hw));
    tape.probabilities.clear();
    for (const Sequence& sequence : sequences)
        for (int head = 0; head < shape.heads; ++head) {
            float* p = arena.take(area(sequence));
            tape.probabilities.push_back(p);
            const int length = sequence.length;
            const float* q = qkv + static_cast<std::ptrdiff_t>(sequence.first_row) * 3 * d + head * hw;
            const float* k = q + d;
            const float* v = k + d;
            float* o = out + static_cast<std::ptrdiff_t>(sequence.first_row) * d + head * hw;
            for_tiles(sequence, [&](const Tile& tile) {
                float* scores = p + static_cast<std::ptrdiff_t>(tile.first) * length;
                gemm_nt(tile.rows, tile.keys, hw, q + static_cast<std::ptrdiff_t>(tile.first) * 3 * d, 3 * d,
                        k, 3 * d, scores, length);
                for (int r = 0; r < tile.rows; ++r) {
                    const int row = tile.first + r;
                    float* line = scores + static_cast<std::ptrdiff_t>(r) * length;
                    if (sequence.masks.empty()) {
                        softmax_ranges(line, length, length, length, tile.keys, scale);
                    } else {
                        const RowMask& mask = sequence.masks[static_cast<std::size_t>(row)];
                        softmax_ranges(line, mask.prefix, mask.begin, row + 1, tile.keys, scale);
                    }
                }
                gemm_nn(tile.rows, hw, tile.keys, scores, length, v, 3 * d,
                        o + static_cast<std::ptrdiff_t>(tile.first) * d, d);
            });
        }
}

void attention_backward(const float* qkv, const float* out, const float* d_out, float* d_qkv,
                        std::span<const Sequence> sequences, const AttentionShape& shape,
                        const AttentionTape& tape, Arena& arena) {
    const int d = shape.width;
    const int hw = shape.head_width();
    const float scale = 1.0F / std::sqrt(static_cast<float>(hw));
    int longest = 0;
    for (const Sequence& sequence : sequences) longest = std::max(longest, sequence.length);
    float* dp = arena.take(static_cast<std::size_t>(kTile) * static_cast<std::size_t>(longest));
    std::size_t at = 0;
    for (const Sequence& sequence : sequences) {
        const std::ptrdiff_t rows3 = static_cast<std::ptrdiff_t>(sequence.first_row) * 3 * d;
        std::fill_n(d_qkv + rows3, static_cast<std::ptrdiff_t>(sequence.length) * 3 * d, 0.0F);
        for (int head = 0; head < shape.heads; ++head) {
            const float* p = tape.probabilities[at++];
            const int length = sequence.length;
            const float* q = qkv + rows3 + head * hw;
            const float* k = q + d;
            const float* v = k + d;
            float* dq = d_qkv + rows3 + head * hw;
            float* dk = dq + d;
            float* dv = dk + d;
            const std::ptrdiff_t rows1 = static_cast<std::ptrdiff_t>(sequence.first_row) * d + head * hw;
            for_tiles(sequence, [&](const Tile& tile) {
                const std::ptrdiff_t skip = static_cast<std::ptrdiff_t>(tile.first);
                const float* prob = p + skip * length;
                const float* o = out + rows1 + skip * d;
                const float* grad = d_out + rows1 + skip * d;
                gemm_nt(tile.rows, tile.keys, hw, grad, d, v, 3 * d, dp, length);
                gemm_tn(tile.keys, hw, tile.rows, prob, length, grad, d, dv, 3 * d, 1.0F);
                for (int r = 0; r < tile.rows; ++r) {
                    // sum(dp * p) over the keys equals the product of output and its gradient
                    float dot = 0;
                    for (int i = 0; i < hw; ++i) dot += o[r * d + i] * grad[r * d + i];
                    softmax_backward(prob + static_cast<std::ptrdiff_t>(r) * length,
                                     dp + static_cast<std::ptrdiff_t>(r) * length, dot, tile.keys, scale);
                }
                gemm_nn(tile.rows, hw, tile.keys, dp, length, k, 3 * d, dq + skip * 3 * d, 3 * d);
                gemm_tn(tile.keys, hw, tile.rows, dp, length, q + skip * 3 * d, 3 * d, dk, 3 * d, 1.0F);
            });
        }
    }
}

}  // namespace clasp::training
