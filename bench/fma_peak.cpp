#include "fma_peak.h"

#include <benchmark/benchmark.h>

#include <cstddef>
#include <ctime>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace clasp::bench {
namespace {

constexpr std::size_t kRounds = 40000;
constexpr std::size_t kSums = 12;  // independent sums: more than latency times throughput

// Each returns the floating-point operations it did.
#if defined(__x86_64__)
__attribute__((target("avx512f"))) double run_avx512() {
    __m512 sums[kSums];
    for (__m512& sum : sums) sum = _mm512_set1_ps(1.0F);
    const __m512 factor = _mm512_set1_ps(0.999F);
    for (std::size_t round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
        for (__m512& sum : sums) sum = _mm512_fmadd_ps(sum, factor, factor);
    }
    for (__m512& sum : sums) benchmark::DoNotOptimize(sum);
    return 2.0 * 16.0 * kSums * kRounds;
}

__attribute__((target("avx2,fma"))) double run_avx2() {
    __m256 sums[kSums];
    for (__m256& sum : sums) sum = _mm256_set1_ps(1.0F);
    const __m256 factor = _mm256_set1_ps(0.999F);
    for (std::size_t round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
        for (__m256& sum : sums) sum = _mm256_fmadd_ps(sum, factor, factor);
    }
    for (__m256& sum : sums) benchmark::DoNotOptimize(sum);
    return 2.0 * 8.0 * kSums * kRounds;
}
#elif defined(__aarch64__)
double run_neon() {
    float32x4_t sums[2 * kSums];
    for (float32x4_t& sum : sums) sum = vdupq_n_f32(1.0F);
    const float32x4_t factor = vdupq_n_f32(0.999F);
    for (std::size_t round = 0; round < kRounds; ++round) {
#pragma GCC unroll 24
        for (float32x4_t& sum : sums) sum = vfmaq_f32(factor, sum, factor);
    }
    for (float32x4_t& sum : sums) benchmark::DoNotOptimize(sum);
    return 2.0 * 4.0 * 2.0 * kSums * kRounds;
}
#endif

double run_scalar() {
    float sums[kSums];
    for (float& sum : sums) sum = 1.0F;
    const float factor = 0.999F;
    for (std::size_t round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
        for (float& sum : sums) sum = sum * factor + factor;
    }
    for (float& sum : sums) benchmark::DoNotOptimize(sum);
    return 2.0 * kSums * kRounds;
}

double run_widest() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") != 0) return run_avx512();
    if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0) return run_avx2();
#elif defined(__aarch64__)
    return run_neon();
#endif
    return run_scalar();
}

double thread_ns() {
    timespec time = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

}  // namespace

double fma_gflops() {
    const double begin = thread_ns();
    double operations = 0;
    for (int repeat = 0; repeat < 5; ++repeat) operations += run_widest();
    return operations / (thread_ns() - begin);
}

}  // namespace clasp::bench
