// Private to the kernels of quant_matrix.h with registers of 256 bits, each compiled with flags of its own:
// where their tiles read weights and scales, and what the tiles of a chunk with parts end with.
#pragma once

#include <immintrin.h>

#include <cstring>

#include "model/quant_unpack_x86.h"

namespace clasp::model::quant {

// A copy per file: the linker must not choose between copies for different processors.
namespace {

inline __m256i broadcast(const void* from) {
    std::int32_t word = 0;
    std::memcpy(&word, from, sizeof(word));
    return _mm256_set1_epi32(word);
}

inline __m256i load_aligned(const void* from) {
    return _mm256_load_si256(static_cast<const __m256i*>(from));
}

// Half a panel is eight outputs, one register. kTwice: scales of parts come as pairs of the same number of 16
// bits.
template <unsigned kBits, unsigned kParts, bool kMinima, bool kTwice>
struct FromPacked : PackedChunk<kBits, kParts, kMinima> {
    using PackedChunk<kBits, kParts, kMinima>::PackedChunk;

    template <unsigned kStep>
    [[nodiscard]] __m256i values(std::size_t block, std::size_t half) const {
        return step_values<kBits, kStep>(this->block(block) + 32 * half);
    }
    [[nodiscard]] __m256 scale(std::size_t block, std::size_t half) const {
        return halves_at(this->scales + this->kLine * block + 16 * half);
    }
    [[nodiscard]] __m256 minimum(std::size_t block, std::size_t half) const {
        return halves_at(this->minima + this->kLine * block + 16 * half);
    }
    [[nodiscard]] __m256i part_scale(std::size_t part, std::size_t half) const {
        const __m256i scale = widen<true>(this->parts + part * kQuantPanel + 8 * half);
        return kTwice ? paired(scale, scale) : scale;
    }
    [[nodiscard]] __m256i pair(std::size_t i, std::size_t half) const {
        const std::uint8_t* two = this->twos(i) + 8 * half;
        return paired(widen<!kMinima>(two), widen<!kMinima>(two + kQuantPanel));
    }
};

struct FromUnpackedBlocks {
    FromUnpackedBlocks(const std::uint8_t* unpacked, std::size_t /*n_blocks*/)
        : from(*reinterpret_cast<const UnpackedBlocks*>(unpacked)) {}

    template <unsigned kStep>
    [[nodiscard]] __m256i values(std::size_t block, std::size_t half) const {
        return load_aligned(from.values[8 * block + kStep] + 32 * half);
    }
    [[nodiscard]] __m256 scale(std::size_t block, std::size_t half) const {
        return _mm256_load_ps(from.scales[block] + 8 * half);
    }
    [[nodiscard]] __m256 minimum(std::size_t block, std::size_t half) const {
        return _mm256_load_ps(from.minima[block] + 8 * half);
    }

    const UnpackedBlocks& from;
};

struct FromUnpackedParts {
    FromUnpackedParts(const std::uint8_t* unpacked, std::size_t /*n_blocks*/)
        : from(*reinterpret_cast<const UnpackedParts*>(unpacked)) {}

    template <unsigned kStep>
    [[nodiscard]] __m256i values(std::size_t block, std::size_t half) const {
        return load_aligned(from.values[8 * block + kStep] + 32 * half);
    }
    [[nodiscard]] __m256 scale(std::size_t /*block*/, std::size_t half) const {
        return _mm256_load_ps(from.scale + 8 * half);
    }
    [[nodiscard]] __m256 minimum(std::size_t /*block*/, std::size_t half) const {
        return _mm256_load_ps(from.minimum + 8 * half);
    }
    [[nodiscard]] __m256i part_scale(std::size_t part, std::size_t half) const {
        return load_aligned(from.scales[part] + 8 * half);
    }
    [[nodiscard]] __m256i pair(std::size_t i, std::size_t half) const {
        return load_aligned(from.pairs[i] + 8 * half);
    }

    const UnpackedParts& from;
};

// Adds the products of a chunk's parts, times their scales, to the sums of a tile's rows.
template <unsigned kBits, unsigned kParts, bool kMinima, std::size_t kRows, typename Source>
[[gnu::always_inline]] inline void finish_parts(const Source& source, const ChunkFacts* known,
                                                const __m256i (&all)[kRows][2], float* sums) {
    // What the offsets or the minima are multiplied with: the sums of the parts' bytes.
#pragma GCC unroll 2
    for (std::size_t half = 0; half < 2; ++half) {
        __m256i taken[kRows];
#pragma GCC unroll 4
        for (std::size_t row = 0; row < kRows; ++row) taken[row] = _mm256_setzero_si256();
        for (std::size_t pair = 0; pair < kParts / 2; ++pair) {
            const __m256i two = source.pair(pair, half);
#pragma GCC unroll 4
            for (std::size_t row = 0; row < kRows; ++row) {
                const std::int16_t* bytes = kParts == 8 ? known[row].sums32 : known[row].sums16;
                taken[row] =
                    _mm256_add_epi32(taken[row], _mm256_madd_epi16(two, broadcast(bytes + 2 * pair)));
            }
        }
        const __m256 scale = source.scale(0, half);
#pragma GCC unroll 4
        for (std::size_t row = 0; row < kRows; ++row) {
            const __m256 input_scale = _mm256_set1_ps(known[row].scale);
            float* place = sums + row * kQuantPanel + 8 * half;
            __m256i dots = all[row][half];
            if constexpr (!kMinima) dots = _mm256_sub_epi32(dots, _mm256_slli_epi32(taken[row], kBits - 1));
            __m256 sum = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dots), _mm256_mul_ps(scale, input_scale),
                                         _mm256_loadu_ps(place));
            if constexpr (kMinima) {
                const __m256 minimum = _mm256_mul_ps(source.minimum(0, half), input_scale);
                sum = _mm256_fnmadd_ps(_mm256_cvtepi32_ps(taken[row]), minimum, sum);
            }
            _mm256_storeu_ps(place, sum);
        }
    }
}

}  // namespace

}  // namespace clasp::model::quant
