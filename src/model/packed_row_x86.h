// Private to the x86 kernels of packed_matrix.h, each compiled with flags of its own: from the integer sums
// of a row to what is stored. One text for all of them, so that they give the same bits.
#pragma once

#include <immintrin.h>

#include "model/avx2_math.h"
#include "model/packed_kernel.h"
#include "model/packed_matrix.h"

namespace clasp::model::packed {

// A copy per file: the linker must not choose between copies for different processors.
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

// Stores the sums of one row and panel: 16 outputs.
inline void store_row(const Step& step, std::size_t row, std::size_t panel, __m256i low, __m256i high) {
    if (row >= step.n_rows) return;
    const std::size_t first = panel * kPanel;
    float* y = step.y + row * step.y_stride + first;
    const float* weight_scales = step.weight_scales + first;
    const __m256 scale = _mm256_set1_ps(step.input_scales[row]);
    const __m256 scale_low = _mm256_mul_ps(scale, _mm256_loadu_ps(weight_scales));
    const __m256 scale_high = _mm256_mul_ps(scale, _mm256_loadu_ps(weight_scales + 8));
    __m256 y_low;
    __m256 y_high;
    if (step.sums == nullptr) {
        y_low = _mm256_mul_ps(_mm256_cvtepi32_ps(low), scale_low);
        y_high = _mm256_mul_ps(_mm256_cvtepi32_ps(high), scale_high);
    } else {
        const float* sums = step.sums + row * step.sums_stride + first;
        y_low = _mm256_fmadd_ps(_mm256_cvtepi32_ps(low), scale_low, _mm256_loadu_ps(sums));
        y_high = _mm256_fmadd_ps(_mm256_cvtepi32_ps(high), scale_high, _mm256_loadu_ps(sums + 8));
    }
    if (step.is_last) {
        const float* bias = step.bias != nullptr ? step.bias + first : nullptr;
        y_low = finish(y_low, bias, step.epilogue);
        y_high = finish(y_high, bias != nullptr ? bias + 8 : nullptr, step.epilogue);
    }
    _mm256_storeu_ps(y, y_low);
    _mm256_storeu_ps(y + 8, y_high);
}

}  // namespace

}  // namespace clasp::model::packed
