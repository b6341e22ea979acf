// Compiled with -mavx2 -mfma; runs only where the processor has both.
#include <immintrin.h>

#define CLASP_VECTOR_BYTES 32
#include "select/kernels/vector_rows.h"

namespace clasp::selection {
namespace {

constexpr std::size_t kPanel = 24;

// 12 accumulators, 3 columns and 1 row: all 16 registers.
void gram_tile(std::size_t depth, const float* a, const float* b, float* out, std::size_t out_stride,
               bool add) {
    __m256 sums[kTileRows][3];
    for (auto& row : sums) {
        for (__m256& sum : row) sum = _mm256_setzero_ps();
    }
    for (std::size_t k = 0; k < depth; ++k, a += kPanel, b += kPanel) {
        const __m256 b0 = _mm256_loadu_ps(b);
        const __m256 b1 = _mm256_loadu_ps(b + 8);
        const __m256 b2 = _mm256_loadu_ps(b + 16);
        for (std::size_t i = 0; i < kTileRows; ++i) {
            const __m256 row = _mm256_broadcast_ss(a + i);
            sums[i][0] = _mm256_fmadd_ps(row, b0, sums[i][0]);
            sums[i][1] = _mm256_fmadd_ps(row, b1, sums[i][1]);
            sums[i][2] = _mm256_fmadd_ps(row, b2, sums[i][2]);
        }
    }
    for (std::size_t i = 0; i < kTileRows; ++i) {
        for (std::size_t v = 0; v < 3; ++v) {
            float* to = out + i * out_stride + v * 8;
            _mm256_storeu_ps(to, add ? _mm256_add_ps(_mm256_loadu_ps(to), sums[i][v]) : sums[i][v]);
        }
    }
}

void gather_columns(const float* row, const ColumnSelection& selection, float* out) {
    for (std::size_t i = 0; i < selection.n_blocks; ++i) {
        const ColumnBlock& block = selection.blocks[i];
        const __m256i permutation = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block.permutation));
        const __m256 values = _mm256_loadu_ps(row + block.source);
        _mm256_storeu_ps(out + block.target, _mm256_permutevar8x32_ps(values, permutation));
    }
    for (std::size_t i = selection.tail_begin; i < selection.n_columns; ++i) {
        out[i] = row[selection.columns[i]];
    }
}

}  // namespace

const Kernels& avx2_kernels() {
    static constexpr Kernels kTable = {"avx2",         kPanel,   gram_tile, squared_norm, scale_row,
                                       gather_columns, sum_rows, max_rows,  best_rows,    max_bits};
    return kTable;
}

}  // namespace clasp::selection
