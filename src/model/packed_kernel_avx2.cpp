// Compiled with -mavx2 -mfma; runs only where the processor has both.
#include <immintrin.h>

#include "model/packed_kernel.h"
#include "model/packed_row_x86.h"

namespace clasp::model::packed {

namespace {

inline __m256i load(const std::int16_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(p));
}

}  // namespace

// Twelve sums, two weights, one input and one product: exactly the sixteen registers there are.
void step_avx2(const Step& step) {
    __m256i s00 = _mm256_setzero_si256(), s01 = s00, s10 = s00, s11 = s00, s20 = s00, s21 = s00;
    __m256i s30 = s00, s31 = s00, s40 = s00, s41 = s00, s50 = s00, s51 = s00;
    const std::int16_t* weights = step.weights;
    const std::int32_t* inputs = step.inputs;
    for (std::size_t pair = 0; pair < step.n_pairs; ++pair, weights += 2 * kPanel, inputs += kTile) {
        const __m256i w0 = load(weights);
        const __m256i w1 = load(weights + kPanel);
        __m256i x = _mm256_set1_epi32(inputs[0]);
        s00 = _mm256_add_epi32(s00, _mm256_madd_epi16(x, w0));
        s01 = _mm256_add_epi32(s01, _mm256_madd_epi16(x, w1));
        x = _mm256_set1_epi32(inputs[1]);
        s10 = _mm256_add_epi32(s10, _mm256_madd_epi16(x, w0));
        s11 = _mm256_add_epi32(s11, _mm256_madd_epi16(x, w1));
        x = _mm256_set1_epi32(inputs[2]);
        s20 = _mm256_add_epi32(s20, _mm256_madd_epi16(x, w0));
        s21 = _mm256_add_epi32(s21, _mm256_madd_epi16(x, w1));
        x = _mm256_set1_epi32(inputs[3]);
        s30 = _mm256_add_epi32(s30, _mm256_madd_epi16(x, w0));
        s31 = _mm256_add_epi32(s31, _mm256_madd_epi16(x, w1));
        x = _mm256_set1_epi32(inputs[4]);
        s40 = _mm256_add_epi32(s40, _mm256_madd_epi16(x, w0));
        s41 = _mm256_add_epi32(s41, _mm256_madd_epi16(x, w1));
        x = _mm256_set1_epi32(inputs[5]);
        s50 = _mm256_add_epi32(s50, _mm256_madd_epi16(x, w0));
        s51 = _mm256_add_epi32(s51, _mm256_madd_epi16(x, w1));
    }
    store_row(step, 0, 0, s00, s01);
    store_row(step, 1, 0, s10, s11);
    store_row(step, 2, 0, s20, s21);
    store_row(step, 3, 0, s30, s31);
    store_row(step, 4, 0, s40, s41);
    store_row(step, 5, 0, s50, s51);
}

float round_block_avx2(const float* x, std::size_t n, int max, std::int16_t* out) {
    const __m256 magnitude = _mm256_castsi256_ps(_mm256_set1_epi32(0x7FFFFFFF));
    const __m256 zero = _mm256_setzero_ps();
    __m256 tops = zero;
    __m256 blemish = zero;  // 0 * x: becomes NaN with the first value that is not finite, and stays so
    for (std::size_t i = 0; i < n; i += 8) {
        const __m256 values = _mm256_loadu_ps(x + i);
        tops = _mm256_max_ps(tops, _mm256_and_ps(values, magnitude));
        blemish = _mm256_fmadd_ps(values, zero, blemish);
    }
    float lanes[8];
    _mm256_storeu_ps(lanes, tops);
    float top = 0.0F;
    for (const float lane : lanes) top = lane > top ? lane : top;
    _mm256_storeu_ps(lanes, blemish);
    float scale = top / static_cast<float>(max);
    for (const float lane : lanes) scale += lane;
    const __m256 inverse = _mm256_set1_ps(top > 0.0F ? static_cast<float>(max) / top : 0.0F);
    for (std::size_t i = 0; i < n; i += 16) {
        const __m256i low = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + i), inverse));
        const __m256i high = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + i + 8), inverse));
        // packs works within halves: put the four quarters back in order
        const __m256i both = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0b11011000);
        _mm256_storeu_si256(reinterpret_cast<__m256i_u*>(out + i), both);
    }
    return scale;
}

}  // namespace clasp::model::packed
