// Private to files compiled with -mavx2 -mfma or more: functions of eight floats at a time.
#pragma once

#include <immintrin.h>

namespace clasp::model {

// A copy per file: the linker must not choose between copies for different processors.
namespace {

// exp(x) for x in [-87, 87], relative error below 2^-22: 2^n times a polynomial of degree 6 in the rest.
// Values beyond are taken as -87 or 87; NaN stays NaN (min and max return their second operand then).
inline __m256 exponential(__m256 x) {
    x = _mm256_min_ps(_mm256_set1_ps(87.0F), _mm256_max_ps(_mm256_set1_ps(-87.0F), x));
    const __m256 n = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(1.44269504F)),
                                     _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    // ln 2 in two parts, so that the rest is exact
    __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693359375F), x);
    r = _mm256_fnmadd_ps(n, _mm256_set1_ps(-2.12194440e-4F), r);
    __m256 p = _mm256_set1_ps(1.0F / 720.0F);
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0F / 120.0F));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0F / 24.0F));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0F / 6.0F));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0.5F));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0F));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0F));
    const __m256i power =
        _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
    return _mm256_mul_ps(p, _mm256_castsi256_ps(power));
}

}  // namespace

}  // namespace clasp::model
