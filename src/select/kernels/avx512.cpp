// Compiled with -mavx512f; runs only where the processor has it.
#include <immintrin.h>

#define CLASP_VECTOR_BYTES 64
#include "select/kernels/vector_rows.h"

namespace clasp::selection {
namespace {

constexpr std::size_t kPanel = 48;

// 12 accumulators of 16 floats: enough to hide the latency of two fused multiply-adds per cycle. Named
// one by one, because compilers keep arrays of them in memory.
struct TileRow {
    __m512 sum0, sum1, sum2;
};

inline void multiply(__m512 a, __m512 b0, __m512 b1, __m512 b2, TileRow& row) {
    row.sum0 = _mm512_fmadd_ps(a, b0, row.sum0);
    row.sum1 = _mm512_fmadd_ps(a, b1, row.sum1);
    row.sum2 = _mm512_fmadd_ps(a, b2, row.sum2);
}

inline void write(const TileRow& row, float* out, bool add) {
    __m512 sum0 = row.sum0, sum1 = row.sum1, sum2 = row.sum2;
    if (add) {
        sum0 = _mm512_add_ps(_mm512_loadu_ps(out), sum0);
        sum1 = _mm512_add_ps(_mm512_loadu_ps(out + 16), sum1);
        sum2 = _mm512_add_ps(_mm512_loadu_ps(out + 32), sum2);
    }
    _mm512_storeu_ps(out, sum0);
    _mm512_storeu_ps(out + 16, sum1);
    _mm512_storeu_ps(out + 32, sum2);
}

void gram_tile(std::size_t depth, const float* a, const float* b, float* out, std::size_t out_stride,
               bool add) {
    const __m512 zero = _mm512_setzero_ps();
    TileRow row0 = {zero, zero, zero}, row1 = row0, row2 = row0, row3 = row0;
    for (std::size_t k = 0; k < depth; ++k, a += kPanel, b += kPanel) {
        const __m512 b0 = _mm512_loadu_ps(b);
        const __m512 b1 = _mm512_loadu_ps(b + 16);
        const __m512 b2 = _mm512_loadu_ps(b + 32);
        multiply(_mm512_set1_ps(a[0]), b0, b1, b2, row0);
        multiply(_mm512_set1_ps(a[1]), b0, b1, b2, row1);
        multiply(_mm512_set1_ps(a[2]), b0, b1, b2, row2);
        multiply(_mm512_set1_ps(a[3]), b0, b1, b2, row3);
    }
    write(row0, out, add);
    write(row1, out + out_stride, add);
    write(row2, out + 2 * out_stride, add);
    write(row3, out + 3 * out_stride, add);
}

}  // namespace

const Kernels& avx512_kernels() {
    // Packing and gathering work on blocks of eight: the narrower kernels do it.
    static const Kernels table = {.name = "avx512",
                                  .panel = kPanel,
                                  .gram_tile = gram_tile,
                                  .squared_norm = squared_norm,
                                  .pack_rows = avx2_kernels().pack_rows,
                                  .gather_fixed = avx2_kernels().gather_fixed,
                                  .sum_rows = sum_rows,
                                  .max_rows = max_rows,
                                  .max_fixed_rows = max_fixed_rows,
                                  .best_rows = best_rows,
                                  .max_bits = max_bits};
    return table;
}

}  // namespace clasp::selection
