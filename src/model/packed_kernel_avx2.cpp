// Compiled with -mavx2 -mfma; runs only where the processor has both.
#include <immintrin.h>

#include "model/avx2_math.h"
#include "model/packed_kernel.h"
#include "model/packed_matrix.h"

namespace clasp::model::packed {

namespace {

// x / (1 + exp(-1.702 x))
inline __m256 quick_gelu(__m256 x) {
    const __m256 e = exponential(_mm256_mul_ps(x, _mm256_set1_ps(-1.702F)));
    return _mm256_div_ps(x, _mm256_add_ps(_mm256_set1_ps(1.0F), e));
}

// x (1 + erf(x / sqrt 2)) / 2 with erf(z) = 1 - p(1 / (1 + c z)) exp(-z^2) for z >= 0, absolute error
// below 2e-7 (Abramowitz and Stegun, 7.1.26).
inline __m256 gelu(__m256 x) {
    const __m256 sign = _mm256_and_ps(x, _mm256_set1_ps(-0.0F));
    const __m256 z = _mm256_mul_ps(_mm256_xor_ps(x, sign), _mm256_set1_ps(0.70710678F));
    const __m256 one = _mm256_set1_ps(1.0F);
    const __m256 t = _mm256_div_ps(one, _mm256_fmadd_ps(z, _mm256_set1_ps(0.3275911F), one));
    __m256 p = _mm256_set1_ps(1.061405429F);
    p = _mm256_fmadd_ps(p, t, _mm256_set1_ps(-1.453152027F));
    p = _mm256_fmadd_ps(p, t, _mm256_set1_ps(1.421413741F));
    p = _mm256_fmadd_ps(p, t, _mm256_set1_ps(-0.284496736F));
    p = _mm256_fmadd_ps(p, t, _mm256_set1_ps(0.254829592F));
    p = _mm256_mul_ps(p, t);
    const __m256 e = exponential(_mm256_mul_ps(_mm256_xor_ps(z, _mm256_set1_ps(-0.0F)), z));
    const __m256 erf = _mm256_or_ps(_mm256_fnmadd_ps(p, e, one), sign);
    const __m256 half = _mm256_mul_ps(x, _mm256_set1_ps(0.5F));
    return _mm256_fmadd_ps(half, erf, half);
}

inline __m256 finish(__m256 value, const float* bias, int epilogue) {
    if (bias != nullptr) value = _mm256_add_ps(value, _mm256_loadu_ps(bias));
    if (epilogue == static_cast<int>(Epilogue::QuickGelu)) return quick_gelu(value);
    if (epilogue == static_cast<int>(Epilogue::Gelu)) return gelu(value);
    return value;
}

// Stores the sums of one row: 16 outputs.
inline void store_row(const Step& step, std::size_t row, __m256i low, __m256i high) {
    if (row >= step.n_rows) return;
    float* y = step.y + row * step.y_stride;
    const __m256 scale = _mm256_set1_ps(step.input_scales[row]);
    const __m256 scale_low = _mm256_mul_ps(scale, _mm256_loadu_ps(step.weight_scales));
    const __m256 scale_high = _mm256_mul_ps(scale, _mm256_loadu_ps(step.weight_scales + 8));
    __m256 y_low;
    __m256 y_high;
    if (step.sums == nullptr) {
        y_low = _mm256_mul_ps(_mm256_cvtepi32_ps(low), scale_low);
        y_high = _mm256_mul_ps(_mm256_cvtepi32_ps(high), scale_high);
    } else {
        const float* sums = step.sums + row * step.sums_stride;
        y_low = _mm256_fmadd_ps(_mm256_cvtepi32_ps(low), scale_low, _mm256_loadu_ps(sums));
        y_high = _mm256_fmadd_ps(_mm256_cvtepi32_ps(high), scale_high, _mm256_loadu_ps(sums + 8));
    }
    if (step.is_last) {
        y_low = finish(y_low, step.bias, step.epilogue);
        y_high = finish(y_high, step.bias != nullptr ? step.bias + 8 : nullptr, step.epilogue);
    }
    _mm256_storeu_ps(y, y_low);
    _mm256_storeu_ps(y + 8, y_high);
}

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
    store_row(step, 0, s00, s01);
    store_row(step, 1, s10, s11);
    store_row(step, 2, s20, s21);
    store_row(step, 3, s30, s31);
    store_row(step, 4, s40, s41);
    store_row(step, 5, s50, s51);
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
