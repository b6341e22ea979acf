// Compiled with -mavx2 -mfma; runs only where the processor has both.
#include <immintrin.h>

#include "model/attention_kernel.h"
#include "model/avx2_math.h"

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
    const float* b = step.b + panel * step.panel_stride;
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

float maximum_avx2(const float* values, std::size_t n) {
    __m256 tops = _mm256_loadu_ps(values);
    for (std::size_t i = 8; i < n; i += 8) tops = _mm256_max_ps(tops, _mm256_loadu_ps(values + i));
    float lanes[8];
    _mm256_storeu_ps(lanes, tops);
    float top = lanes[0];
    for (const float lane : lanes) top = lane > top ? lane : top;
    return top;
}

float exponentials_avx2(float* scores, std::size_t n, float scale, float top) {
    const __m256 factor = _mm256_set1_ps(scale);
    const __m256 offset = _mm256_set1_ps(-top * scale);
    const __m256 hidden = _mm256_set1_ps(-__builtin_inff());
    __m256 sums = _mm256_setzero_ps();
    for (std::size_t i = 0; i < n; i += 8) {
        const __m256 score = _mm256_loadu_ps(scores + i);
        // exponential() ends at a smallest number; what is hidden must not weigh even that.
        const __m256 is_hidden = _mm256_cmp_ps(score, hidden, _CMP_EQ_OQ);
        const __m256 e = _mm256_andnot_ps(is_hidden, exponential(_mm256_fmadd_ps(score, factor, offset)));
        _mm256_storeu_ps(scores + i, e);
        sums = _mm256_add_ps(sums, e);
    }
    float lanes[8];
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

void add_avx2(float* values, const float* more, std::size_t n) {
    for (std::size_t i = 0; i < n; i += 8) {
        _mm256_storeu_ps(values + i, _mm256_add_ps(_mm256_loadu_ps(values + i), _mm256_loadu_ps(more + i)));
    }
}

void add_halves_avx2(float* values, const std::uint16_t* halves, std::size_t n, float factor) {
    const __m256 by = _mm256_set1_ps(factor);
    std::size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256 wide = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(halves + i)));
        _mm256_storeu_ps(values + i, _mm256_fmadd_ps(wide, by, _mm256_loadu_ps(values + i)));
    }
    for (; i < n; ++i) {
        const __m128 one =
            _mm_fmadd_ss(_mm_set_ss(_cvtsh_ss(halves[i])), _mm_set_ss(factor), _mm_set_ss(values[i]));
        values[i] = _mm_cvtss_f32(one);
    }
}

}  // namespace clasp::model::attention
