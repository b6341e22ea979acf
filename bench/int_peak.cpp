#include "int_peak.h"

#include <cstdint>
#include <ctime>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace clasp::bench {
namespace {

constexpr std::size_t kIntegerRounds = 200000;
constexpr std::size_t kIntegerSums = 8;  // independent sums: more than latency times throughput

#if defined(__x86_64__)
__attribute__((target("avx2"))) double run_pairs() {
    __m256i sums[kIntegerSums];
    for (__m256i& sum : sums) sum = _mm256_setzero_si256();
    const __m256i factor = _mm256_set1_epi8(3);
    for (std::size_t round = 0; round < kIntegerRounds; ++round) {
#pragma GCC unroll 8
        for (__m256i& sum : sums) {
            // As text: a compiler would let one product serve all sums.
            __m256i pairs;
            asm("vpmaddubsw %[factor], %[factor], %[pairs]\n\tvpaddw %[pairs], %[sum], %[sum]"
                : [sum] "+x"(sum), [pairs] "=&x"(pairs)
                : [factor] "x"(factor));
        }
    }
    for (__m256i& sum : sums) asm volatile("" : "+x"(sum));
    return 2.0 * 32.0 * kIntegerSums * kIntegerRounds;
}

__attribute__((target("avx512f,avx512vnni"))) double run_dots() {
    __m512i sums[kIntegerSums];
    for (__m512i& sum : sums) sum = _mm512_setzero_si512();
    __m512i factor = _mm512_set1_epi32(0x03030303);
    for (std::size_t round = 0; round < kIntegerRounds; ++round) {
#pragma GCC unroll 8
        for (__m512i& sum : sums) sum = _mm512_dpbusd_epi32(sum, factor, factor);
    }
    for (__m512i& sum : sums) asm volatile("" : "+v"(sum));
    return 2.0 * 64.0 * kIntegerSums * kIntegerRounds;
}
#endif

}  // namespace

double processor_ns() {
    timespec time = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

double byte_pair_gops() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") == 0) return 0.0;
    const double begin = processor_ns();
    const double operations = run_pairs();
    return operations / (processor_ns() - begin);
#else
    return 0.0;
#endif
}

double byte_dot_gops() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512vnni") == 0) return 0.0;
    const double begin = processor_ns();
    const double operations = run_dots();
    return operations / (processor_ns() - begin);
#else
    return 0.0;
#endif
}

double read_gbytes(const void* memory, std::size_t n_bytes) {
    const auto* words = static_cast<const std::uint64_t*>(memory);
    const double begin = processor_ns();
    std::uint64_t sums[8] = {};
    for (std::size_t i = 0; i + 8 <= n_bytes / sizeof(*words); i += 8) {
#pragma GCC unroll 8
        for (std::size_t k = 0; k < 8; ++k) sums[k] += words[i + k];
    }
    for (std::uint64_t& sum : sums) asm volatile("" : "+r"(sum));
    return static_cast<double>(n_bytes) / (processor_ns() - begin);
}

}  // namespace clasp::bench
