// For 64-bit ARM, where every processor has these instructions.
#include <arm_neon.h>

#define CLASP_VECTOR_BYTES 16
#include "select/kernels/vector_rows.h"

namespace clasp::selection {
namespace {

constexpr std::size_t kPanel = 24;

// Four rows by four columns. Six of them make a tile: 24 accumulators, 6 columns and 1 vector of rows,
// 31 of the 32 registers. Named one by one, because compilers keep arrays of them in memory.
struct TileColumns {
    float32x4_t row0, row1, row2, row3;
};

inline void multiply(float32x4_t rows, const float* b, TileColumns& sums) {
    const float32x4_t columns = vld1q_f32(b);
    sums.row0 = vfmaq_laneq_f32(sums.row0, columns, rows, 0);
    sums.row1 = vfmaq_laneq_f32(sums.row1, columns, rows, 1);
    sums.row2 = vfmaq_laneq_f32(sums.row2, columns, rows, 2);
    sums.row3 = vfmaq_laneq_f32(sums.row3, columns, rows, 3);
}

inline void write_row(float32x4_t sums, float* out, bool add) {
    vst1q_f32(out, add ? vaddq_f32(vld1q_f32(out), sums) : sums);
}

inline void write(const TileColumns& sums, float* out, std::size_t out_stride, bool add) {
    write_row(sums.row0, out, add);
    write_row(sums.row1, out + out_stride, add);
    write_row(sums.row2, out + 2 * out_stride, add);
    write_row(sums.row3, out + 3 * out_stride, add);
}

void gram_tile(std::size_t depth, const float* a, const float* b, float* out, std::size_t out_stride,
               bool add) {
    const float32x4_t zero = vdupq_n_f32(0.0F);
    TileColumns sums0 = {zero, zero, zero, zero};
    TileColumns sums1 = sums0, sums2 = sums0, sums3 = sums0, sums4 = sums0, sums5 = sums0;
    for (std::size_t k = 0; k < depth; ++k, a += kPanel, b += kPanel) {
        const float32x4_t rows = vld1q_f32(a);
        multiply(rows, b, sums0);
        multiply(rows, b + 4, sums1);
        multiply(rows, b + 8, sums2);
        multiply(rows, b + 12, sums3);
        multiply(rows, b + 16, sums4);
        multiply(rows, b + 20, sums5);
    }
    write(sums0, out, out_stride, add);
    write(sums1, out + 4, out_stride, add);
    write(sums2, out + 8, out_stride, add);
    write(sums3, out + 12, out_stride, add);
    write(sums4, out + 16, out_stride, add);
    write(sums5, out + 20, out_stride, add);
}

}  // namespace

const Kernels& neon_kernels() {
    // Packing and gathering move single floats, which is cheap next to the rest.
    static const Kernels table = {.name = "neon",
                                  .panel = kPanel,
                                  .gram_tile = gram_tile,
                                  .squared_norm = squared_norm,
                                  .pack_rows = scalar_kernels().pack_rows,
                                  .gather_fixed = scalar_kernels().gather_fixed,
                                  .sum_rows = sum_rows,
                                  .max_rows = max_rows,
                                  .max_fixed_rows = max_fixed_rows,
                                  .best_rows = best_rows,
                                  .max_bits = max_bits};
    return table;
}

}  // namespace clasp::selection
