// For 64-bit ARM, where every processor has these instructions.
#include <arm_neon.h>

#define CLASP_VECTOR_BYTES 16
#include "select/kernels/vector_rows.h"

namespace clasp::selection {
namespace {

constexpr std::size_t kPanel = 24;

// 24 accumulators, 6 columns and 1 vector of rows: 31 of the 32 registers.
void gram_tile(std::size_t depth, const float* a, const float* b, float* out, std::size_t out_stride,
               bool add) {
    float32x4_t sums[kTileRows][6];
    for (auto& row : sums) {
        for (float32x4_t& sum : row) sum = vdupq_n_f32(0.0F);
    }
    for (std::size_t k = 0; k < depth; ++k, a += kPanel, b += kPanel) {
        const float32x4_t rows = vld1q_f32(a);
        for (std::size_t v = 0; v < 6; ++v) {
            const float32x4_t column = vld1q_f32(b + 4 * v);
            sums[0][v] = vfmaq_laneq_f32(sums[0][v], column, rows, 0);
            sums[1][v] = vfmaq_laneq_f32(sums[1][v], column, rows, 1);
            sums[2][v] = vfmaq_laneq_f32(sums[2][v], column, rows, 2);
            sums[3][v] = vfmaq_laneq_f32(sums[3][v], column, rows, 3);
        }
    }
    for (std::size_t i = 0; i < kTileRows; ++i) {
        for (std::size_t v = 0; v < 6; ++v) {
            float* to = out + i * out_stride + v * 4;
            vst1q_f32(to, add ? vaddq_f32(vld1q_f32(to), sums[i][v]) : sums[i][v]);
        }
    }
}

}  // namespace

const Kernels& neon_kernels() {
    // There is no cheap permutation by a table of floats: columns are gathered one by one.
    static const Kernels table = {
        "neon",   kPanel,   gram_tile, squared_norm, scale_row, scalar_kernels().gather_columns,
        sum_rows, max_rows, best_rows, max_bits};
    return table;
}

}  // namespace clasp::selection
