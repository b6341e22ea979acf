// Compiled for AVX2, FMA and F16C; called only after has_avx2().
#include "fuse/kernel.h"

#if defined(CLASP_FUSE_AVX2)

#include <cpuid.h>
#include <immintrin.h>

#define CLASP_TARGET __attribute__((target("avx2,fma,f16c")))
#define CLASP_INLINE __attribute__((target("avx2,fma,f16c"), always_inline)) inline

namespace clasp::fuse {
namespace {

constexpr std::size_t kLanes = 8;
constexpr std::size_t kBlock = 4 * kLanes;

// One block of the output, in registers while all taps are added.
struct Block {
    __m256 a, b, c, d;
};

template <FloatType type>
CLASP_INLINE __m256 load(const std::byte* values, std::size_t i) {
    if constexpr (type == FloatType::F32) {
        return _mm256_loadu_ps(reinterpret_cast<const float*>(values) + i);
    } else {
        const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(values + 2 * i));
        if constexpr (type == FloatType::F16) return _mm256_cvtph_ps(bits);
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
    }
}

template <FloatType type>
CLASP_INLINE Block load_block(const Tap& tap, std::size_t at) {
    const std::byte* values = tap.row + at * float_size(type);
    return {load<type>(values, 0), load<type>(values, kLanes), load<type>(values, 2 * kLanes),
            load<type>(values, 3 * kLanes)};
}

CLASP_INLINE Block load_block(const Tap& tap, std::size_t at) {
    if (tap.type == FloatType::F32) return load_block<FloatType::F32>(tap, at);
    if (tap.type == FloatType::F16) return load_block<FloatType::F16>(tap, at);
    return load_block<FloatType::BF16>(tap, at);
}

}  // namespace

bool has_avx2() {
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    const bool has_f16c = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
    return has_f16c && __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
}

CLASP_TARGET void weighted_sum_avx2(std::span<const Tap> taps, std::size_t first, std::size_t last,
                                    float* out) {
    std::size_t at = first;
    for (; at + kBlock <= last; at += kBlock) {
        const __m256 first_weight = _mm256_set1_ps(taps.front().weight);
        Block sum = load_block(taps.front(), at);
        sum.a = _mm256_mul_ps(first_weight, sum.a);
        sum.b = _mm256_mul_ps(first_weight, sum.b);
        sum.c = _mm256_mul_ps(first_weight, sum.c);
        sum.d = _mm256_mul_ps(first_weight, sum.d);
        for (const Tap& tap : taps.subspan(1)) {
            const __m256 weight = _mm256_set1_ps(tap.weight);
            const Block x = load_block(tap, at);
            sum.a = _mm256_fmadd_ps(weight, x.a, sum.a);
            sum.b = _mm256_fmadd_ps(weight, x.b, sum.b);
            sum.c = _mm256_fmadd_ps(weight, x.c, sum.c);
            sum.d = _mm256_fmadd_ps(weight, x.d, sum.d);
        }
        _mm256_storeu_ps(out + at, sum.a);
        _mm256_storeu_ps(out + at + kLanes, sum.b);
        _mm256_storeu_ps(out + at + 2 * kLanes, sum.c);
        _mm256_storeu_ps(out + at + 3 * kLanes, sum.d);
    }
    weighted_sum_scalar(taps, at, last, out);  // a tail shorter than a block
}

}  // namespace clasp::fuse

#endif
