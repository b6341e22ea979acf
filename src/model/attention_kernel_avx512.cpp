// Compiled for AVX-512; runs only where the processor has it.
#include <immintrin.h>

#include "model/attention_kernel.h"

namespace clasp::model::attention {

namespace {

template <std::size_t kPanels>
inline void run(const Step& step) {
    __m512 sums[kTile][kPanels];
#pragma GCC unroll 6
    for (auto& row : sums) {
#pragma GCC unroll 2
        for (__m512& sum : row) sum = _mm512_setzero_ps();
    }
    const float* b = step.b;
    for (std::size_t i = 0; i < step.depth; ++i, b += kPanel) {
        __m512 columns[kPanels];
#pragma GCC unroll 2
        for (std::size_t panel = 0; panel < kPanels; ++panel) {
            columns[panel] = _mm512_loadu_ps(b + panel * step.panel_stride);
        }
#pragma GCC unroll 6
        for (std::size_t row = 0; row < kTile; ++row) {
            const __m512 x = _mm512_set1_ps(step.a[row][i]);
#pragma GCC unroll 2
            for (std::size_t panel = 0; panel < kPanels; ++panel) {
                sums[row][panel] = _mm512_fmadd_ps(x, columns[panel], sums[row][panel]);
            }
        }
    }
#pragma GCC unroll 6
    for (std::size_t row = 0; row < kTile; ++row) {
#pragma GCC unroll 2
        for (std::size_t panel = 0; panel < kPanels; ++panel) {
            _mm512_storeu_ps(step.c[row] + panel * kPanel, sums[row][panel]);
        }
    }
}

}  // namespace

void multiply_avx512(const Step& step) {
    if (step.n_panels == 2) return run<2>(step);
    run<1>(step);
}

}  // namespace clasp::model::attention
