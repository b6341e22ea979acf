// Compiled with -mavx512f; runs only where the processor has it.
#include <immintrin.h>

#define CLASP_VECTOR_BYTES 64
#include "select/kernels/vector_rows.h"

namespace clasp::selection {
namespace {

constexpr std::size_t kPanel = 48;

// 12 accumulators of 16 floats: enough to hide the latency of two fused multiply-adds per cycle.
void gram_tile(std::size_t depth, const float* a, const float* b, float* out, std::size_t out_stride,
               bool add) {
    __m512 sums[kTileRows][3];
    for (auto& row : sums) {
        for (__m512& sum : row) sum = _mm512_setzero_ps();
    }
    for (std::size_t k = 0; k < depth; ++k, a += kPanel, b += kPanel) {
        const __m512 b0 = _mm512_loadu_ps(b);
        const __m512 b1 = _mm512_loadu_ps(b + 16);
        const __m512 b2 = _mm512_loadu_ps(b + 32);
        for (std::size_t i = 0; i < kTileRows; ++i) {
            const __m512 row = _mm512_set1_ps(a[i]);
            sums[i][0] = _mm512_fmadd_ps(row, b0, sums[i][0]);
            sums[i][1] = _mm512_fmadd_ps(row, b1, sums[i][1]);
            sums[i][2] = _mm512_fmadd_ps(row, b2, sums[i][2]);
        }
    }
    for (std::size_t i = 0; i < kTileRows; ++i) {
        for (std::size_t v = 0; v < 3; ++v) {
            float* to = out + i * out_stride + v * 16;
            _mm512_storeu_ps(to, add ? _mm512_add_ps(_mm512_loadu_ps(to), sums[i][v]) : sums[i][v]);
        }
    }
}

}  // namespace

const Kernels& avx512_kernels() {
    // Columns are gathered in blocks of eight: the narrower kernel does it.
    static const Kernels table = {
        "avx512", kPanel,   gram_tile, squared_norm, scale_row, avx2_kernels().gather_columns,
        sum_rows, max_rows, best_rows, max_bits};
    return table;
}

}  // namespace clasp::selection
