// Compiled with -mavx2 -mfma; runs only where the processor has both.
#include <immintrin.h>

#include "model/avx2_math.h"
#include "model/full_attention_kernel.h"

namespace clasp::model::attention {

namespace {

inline void accumulate(__m256& low, __m256& high, const float* a, __m256 b_low, __m256 b_high) {
    const __m256 x = _mm256_broadcast_ss(a);
    low = _mm256_fmadd_ps(x, b_low, low);
    high = _mm256_fmadd_ps(x, b_high, high);
}

inline void store(float* c, __m256 low, __m256 high) {
    _mm256_storeu_ps(c, low);
    _mm256_storeu_ps(c + 8, high);
}

inline void multiply_panel(const Step& step, std::size_t panel) {
    __m256 s00 = _mm256_setzero_ps(), s01 = s00, s10 = s00, s11 = s00, s20 = s00, s21 = s00;
    __m256 s30 = s00, s31 = s00, s40 = s00, s41 = s00, s50 = s00, s51 = s00;
    const float* b = step.b + panel * step.depth * kPanel;
    for (std::size_t i = 0; i < step.depth; ++i, b += kPanel) {
        const __m256 low = _mm256_loadu_ps(b);
        const __m256 high = _mm256_loadu_ps(b + 8);
        accumulate(s00, s01, step.a[0] + i, low, high);
        accumulate(s10, s11, step.a[1] + i, low, high);
        accumulate(s20, s21, step.a[2] + i, low, high);
        accumulate(s30, s31, step.a[3] + i, low, high);
        accumulate(s40, s41, step.a[4] + i, low, high);
        accumulate(s50, s51, step.a[5] + i, low, high);
    }
    store(step.c[0] + panel * kPanel, s00, s01);
    store(step.c[1] + panel * kPanel, s10, s11);
    store(step.c[2] + panel * kPanel, s20, s21);
    store(step.c[3] + panel * kPanel, s30, s31);
    store(step.c[4] + panel * kPanel, s40, s41);
    store(step.c[5] + panel * kPanel, s50, s51);
}

}  // namespace

void multiply_avx2(const Step& step) {
    for (std::size_t panel = 0; panel < step.n_panels; ++panel) multiply_panel(step, panel);
}

float exponentials_avx2(float* scores, std::size_t n, float scale) {
    __m256 tops = _mm256_loadu_ps(scores);
    for (std::size_t i = 8; i < n; i += 8) tops = _mm256_max_ps(tops, _mm256_loadu_ps(scores + i));
    float lanes[8];
    _mm256_storeu_ps(lanes, tops);
    float top = lanes[0];
    for (const float lane : lanes) top = lane > top ? lane : top;
    const __m256 factor = _mm256_set1_ps(scale);
    const __m256 offset = _mm256_set1_ps(-top * scale);
    __m256 sums = _mm256_setzero_ps();
    for (std::size_t i = 0; i < n; i += 8) {
        const __m256 e = exponential(_mm256_fmadd_ps(_mm256_loadu_ps(scores + i), factor, offset));
        _mm256_storeu_ps(scores + i, e);
        sums = _mm256_add_ps(sums, e);
    }
    _mm256_storeu_ps(lanes, sums);
    float sum = 0.0F;
    for (const float lane : lanes) sum += lane;
    return sum;
}

void scale_avx2(float* values, std::size_t n, float factor) {
    const __m256 by = _mm256_set1_ps(factor);
    for (std::size_t i = 0; i < n; i += 8) {
        _mm256_storeu_ps(values + i, _mm256_mul_ps(_mm256_loadu_ps(values + i), by));
    }
}

}  // namespace clasp::model::attention
