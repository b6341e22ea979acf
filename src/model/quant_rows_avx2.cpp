// Compiled with -mavx2 -mfma -mf16c; runs only where the processor has them: rows of inputs, rounded to
// bytes.
#include <immintrin.h>

#include <cstring>

#include "model/quant_kernel.h"

namespace clasp::model::quant {

namespace {

// The largest magnitude of n values, and NaN when one is not finite.
inline __m256 largest_of(const float* x, std::size_t n, __m256& blemish) {
    const __m256 magnitude = _mm256_castsi256_ps(_mm256_set1_epi32(0x7FFFFFFF));
    const __m256 zero = _mm256_setzero_ps();
    __m256 tops = zero;
    for (std::size_t i = 0; i < n; i += 8) {
        const __m256 values = _mm256_loadu_ps(x + i);
        tops = _mm256_max_ps(tops, _mm256_and_ps(values, magnitude));
        blemish = _mm256_fmadd_ps(values, zero, blemish);
    }
    return tops;
}

inline float top_of(__m256 tops) {
    __m128 top = _mm_max_ps(_mm256_castps256_ps128(tops), _mm256_extractf128_ps(tops, 1));
    top = _mm_max_ps(top, _mm_movehl_ps(top, top));
    top = _mm_max_ss(top, _mm_movehdup_ps(top));
    return _mm_cvtss_f32(top);
}

inline int sum_of(__m256i numbers) {
    __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(numbers), _mm256_extracti128_si256(numbers, 1));
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0b01001110));
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0b10110001));
    return _mm_cvtsi128_si32(sum);
}

// A scale for n values and what they are multiplied with; both 0 where all are close to zero, NaN and 0 where
// one is not finite. quant_rows.cpp says why chunks and blocks differ.
template <std::size_t n>
inline float scale_of(const float* x, float& inverse) {
    __m256 blemish = _mm256_setzero_ps();
    const float top = top_of(largest_of(x, n, blemish));
    const bool is_finite = _mm256_movemask_ps(_mm256_cmp_ps(blemish, blemish, _CMP_UNORD_Q)) == 0;
    inverse = 0.0F;
    if (!is_finite) return __builtin_nanf("");
    if (top == 0.0F) return 0.0F;
    inverse = static_cast<float>(kMaxByte) / top;
    if (inverse > 3.4028234e38F) {
        inverse = 0.0F;
        return 0.0F;
    }
    if constexpr (n == kQuantChunk) return 1.0F / inverse;
    return top / static_cast<float>(kMaxByte);
}

// As in quant_rows.cpp.
inline float as_half(float value) {
    if (__builtin_fabsf(value) > kMaxHalf) return value;
    return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtps_ph(_mm_set_ss(value), _MM_FROUND_TO_NEAREST_INT)));
}

// Rounds 32 values; returns their sums over the first and the last 16.
inline void round_32(const float* x, __m256 inverse, bool is_zero, std::int8_t* values, int& first,
                     int& last) {
    __m256i words[4];
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i) {
        words[i] = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 8 * i), inverse));
        if (is_zero) words[i] = _mm256_setzero_si256();
    }
    first = sum_of(_mm256_add_epi32(words[0], words[1]));
    last = sum_of(_mm256_add_epi32(words[2], words[3]));
    const __m256i shorts = _mm256_packs_epi32(words[0], words[1]);
    const __m256i more = _mm256_packs_epi32(words[2], words[3]);
    // packs works within halves: put the eight pieces back in order
    const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(shorts, more),
                                                      _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    _mm256_storeu_si256(reinterpret_cast<__m256i_u*>(values), bytes);
}

}  // namespace

void round_chunk_avx2(const float* x, std::size_t n_blocks, QuantRowKind kind, std::int8_t* values,
                      std::uint8_t* facts) {
    int first = 0;
    int last = 0;
    float inverse = 0.0F;
    if (kind == QuantRowKind::Chunk) {
        ChunkFacts known = {};
        known.scale = scale_of<kQuantChunk>(x, inverse);
        for (std::size_t i = 0; i < kQuantChunkBlocks; ++i) {
            round_32(x + i * kQuantBlock, _mm256_set1_ps(inverse), inverse == 0.0F, values + i * kQuantBlock,
                     first, last);
            known.sums16[2 * i] = static_cast<std::int16_t>(first);
            known.sums16[2 * i + 1] = static_cast<std::int16_t>(last);
            known.sums32[i] = static_cast<std::int16_t>(first + last);
        }
        std::memcpy(facts, &known, sizeof(known));
        return;
    }
    BlockFacts known = {};
    for (std::size_t i = 0; i < n_blocks; ++i) {
        const float scale = scale_of<kQuantBlock>(x + i * kQuantBlock, inverse);
        round_32(x + i * kQuantBlock, _mm256_set1_ps(inverse), inverse == 0.0F, values + i * kQuantBlock,
                 first, last);
        const int sum = first + last;
        known.scale[i] = as_half(scale);
        switch (kind) {
            case QuantRowKind::Offset8: known.offset[i] = -8 * sum; break;
            case QuantRowKind::Offset16: known.offset[i] = -16 * sum; break;
            case QuantRowKind::Offset128: known.offset[i] = -128 * sum; break;
            default: known.sum[i] = as_half(static_cast<float>(sum) * scale); break;
        }
    }
    std::memcpy(facts, &known, sizeof(known));
}

}  // namespace clasp::model::quant
