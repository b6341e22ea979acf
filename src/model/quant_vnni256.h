// Private to quant_kernel_avxvnni.cpp and quant_kernel_avx512vl.cpp, which are this text compiled for the two
// encodings of one instruction: it multiplies half a step of a panel by four bytes of a row, 8 outputs x 4
// inputs, sums of 32 bits that cannot overflow.
#pragma once

#include <immintrin.h>

#include "model/quant_sources_256.h"
#include "model/quant_tiles.h"
#include "model/quant_unpack_x86.h"

namespace clasp::model::quant {

namespace {

inline __m256i add_products(__m256i sum, __m256i weights, __m256i inputs) {
#ifdef __AVXVNNI__
    return _mm256_dpbusd_avx_epi32(sum, weights, inputs);
#else
    return _mm256_dpbusd_epi32(sum, weights, inputs);
#endif
}

// Steps kStep ... kEnd - 1 of a block times the rows of a tile.
template <unsigned kStep, unsigned kEnd, std::size_t kRows, typename Source>
[[gnu::always_inline]] inline void add_steps(const Source& source, std::size_t block,
                                             const std::int8_t* values, __m256i (&dots)[kRows][2]) {
    if constexpr (kStep < kEnd) {
        const __m256i low = source.template values<kStep>(block, 0);
        const __m256i high = source.template values<kStep>(block, 1);
#pragma GCC unroll 4
        for (std::size_t row = 0; row < kRows; ++row) {
            const __m256i x = broadcast(values + row * kQuantChunk + block * kQuantBlock + kStep * 4);
            dots[row][0] = add_products(dots[row][0], low, x);
            dots[row][1] = add_products(dots[row][1], high, x);
        }
        add_steps<kStep + 1, kEnd>(source, block, values, dots);
    }
}

template <bool kMinima, std::size_t kRows, typename Source>
inline void multiply_blocks(const Source& source, std::size_t n_blocks, const std::int8_t* values,
                            const BlockFacts* known, float* sums) {
    for (std::size_t block = 0; block < n_blocks; ++block) {
        __m256i dots[kRows][2];
#pragma GCC unroll 4
        for (std::size_t row = 0; row < kRows; ++row) {
            dots[row][0] = kMinima ? _mm256_setzero_si256() : _mm256_set1_epi32(known[row].offset[block]);
            dots[row][1] = dots[row][0];
        }
        add_steps<0, 8>(source, block, values, dots);
#pragma GCC unroll 2
        for (std::size_t half = 0; half < 2; ++half) {
            const __m256 scale = source.scale(block, half);
#pragma GCC unroll 4
            for (std::size_t row = 0; row < kRows; ++row) {
                const __m256 both_scales = _mm256_mul_ps(scale, _mm256_set1_ps(known[row].scale[block]));
                float* place = sums + row * kQuantPanel + 8 * half;
                __m256 sum =
                    _mm256_fmadd_ps(_mm256_cvtepi32_ps(dots[row][half]), both_scales, _mm256_loadu_ps(place));
                if constexpr (kMinima) {
                    sum = _mm256_fmadd_ps(_mm256_set1_ps(known[row].sum[block]), source.minimum(block, half),
                                          sum);
                }
                _mm256_storeu_ps(place, sum);
            }
        }
    }
}

// The parts of one block, of kSteps steps each.
template <unsigned kSteps, std::size_t kRows, unsigned kStep = 0, typename Source>
[[gnu::always_inline]] inline void add_parts(const Source& source, std::size_t block,
                                             const std::int8_t* values, __m256i (&all)[kRows][2]) {
    if constexpr (kStep < 8) {
        __m256i dots[kRows][2];
#pragma GCC unroll 4
        for (std::size_t row = 0; row < kRows; ++row) dots[row][0] = dots[row][1] = _mm256_setzero_si256();
        add_steps<kStep, kStep + kSteps>(source, block, values, dots);
#pragma GCC unroll 2
        for (std::size_t half = 0; half < 2; ++half) {
            const __m256i scale = source.part_scale((8 * block + kStep) / kSteps, half);
#pragma GCC unroll 4
            for (std::size_t row = 0; row < kRows; ++row) {
                all[row][half] = _mm256_add_epi32(all[row][half], _mm256_mullo_epi32(dots[row][half], scale));
            }
        }
        add_parts<kSteps, kRows, kStep + kSteps>(source, block, values, all);
    }
}

template <unsigned kBits, unsigned kParts, bool kMinima, std::size_t kRows, typename Source>
inline void multiply_parts(const Source& source, const std::int8_t* values, const ChunkFacts* known,
                           float* sums) {
    __m256i all[kRows][2];
#pragma GCC unroll 4
    for (std::size_t row = 0; row < kRows; ++row) all[row][0] = all[row][1] = _mm256_setzero_si256();
    for (std::size_t block = 0; block < kQuantChunkBlocks; ++block) {
        add_parts<kQuantChunk / 4 / kParts, kRows>(source, block, values, all);
    }
    finish_parts<kBits, kParts, kMinima, kRows>(source, known, all, sums);
}

struct SetVnni256 : UnpackX86<false> {
    static constexpr std::size_t kTile = 4;  // rows at a time: two sums each, of eight outputs
    template <unsigned kBits>
    static constexpr std::size_t kFewRows = kBits == 8 ? kAnyRows : (kBits == 4 ? 64 : (kBits <= 3 ? 32 : 4));
    template <unsigned kBits, unsigned kParts, bool kMinima>
    using Packed = FromPacked<kBits, kParts, kMinima, false>;
    using UnpackedInBlocks = FromUnpackedBlocks;
    using UnpackedInParts = FromUnpackedParts;

    template <unsigned kBits, bool kMinima, std::size_t kRows, typename... Arguments>
    static void blocks(const Arguments&... arguments) {
        multiply_blocks<kMinima, kRows>(arguments...);
    }
    template <unsigned kBits, unsigned kParts, bool kMinima, std::size_t kRows, typename... Arguments>
    static void parts(const Arguments&... arguments) {
        multiply_parts<kBits, kParts, kMinima, kRows>(arguments...);
    }
};

template <unsigned kBits, unsigned kParts, bool kMinima>
struct MakeVnni256 : TiledKernel<SetVnni256, kBits, kParts, kMinima> {};

}  // namespace

}  // namespace clasp::model::quant
