// Private to the x86 kernels of quant_matrix.h, each compiled with flags of its own: where they read weights
// and scales, either from a packed chunk or from one that was unpacked to bytes in the first-level cache
// before, which pays for many rows. One text for all of them.
#pragma once

#include <immintrin.h>

#include "model/quant_tiles.h"

namespace clasp::model::quant {

// A copy per file: the linker must not choose between copies for different processors.
namespace {

struct UnpackedBlocks {
    std::uint8_t values[kQuantChunk / 4][64];
    float scales[kQuantChunkBlocks][kQuantPanel];
    float minima[kQuantChunkBlocks][kQuantPanel];
};

struct UnpackedParts {
    std::uint8_t values[kQuantChunk / 4][64];
    float scale[kQuantPanel];
    float minimum[kQuantPanel];
    std::int32_t scales[16][kQuantPanel];
    // Two 16-bit numbers each, of neighbouring parts: minima, or scales where values have an offset.
    std::int32_t pairs[8][kQuantPanel];
};
static_assert(sizeof(UnpackedBlocks) <= kUnpackedBytes && sizeof(UnpackedParts) <= kUnpackedBytes);

inline __m256i load_bytes(const void* from) {
    return _mm256_loadu_si256(static_cast<const __m256i_u*>(from));
}

inline void store_bytes(void* to, __m256i bytes) {
    _mm256_storeu_si256(static_cast<__m256i_u*>(to), bytes);
}

// Moves bits kFirst ... of every byte to kTo and clears the others. Shifts work on 16 bits; what crosses from
// the neighbouring byte is cleared.
template <unsigned kFirst, unsigned kTo, unsigned kBits>
inline __m256i field(__m256i bytes) {
    if constexpr (kFirst > kTo) bytes = _mm256_srli_epi16(bytes, kFirst - kTo);
    if constexpr (kFirst < kTo) bytes = _mm256_slli_epi16(bytes, kTo - kFirst);
    return _mm256_and_si256(bytes, _mm256_set1_epi8(static_cast<char>(((1U << kBits) - 1U) << kTo)));
}

// Step kStep of a block, half a vector.
template <unsigned kBits, unsigned kStep>
inline __m256i step_values(const std::uint8_t* planes) {
    if constexpr (kBits == 8) {
        return load_bytes(planes + 64 * kStep);
    } else {
        constexpr unsigned kLow = kLowBits<kBits>;
        constexpr unsigned kHigh = kBits - kLow;
        using Low = Place<kLow, kStep>;
        const __m256i low = field<Low::kFirst, 0, kLow>(load_bytes(planes + 64 * Low::kVector));
        if constexpr (kHigh == 0) {
            return low;
        } else {
            using High = Place<kHigh, kStep>;
            const __m256i high = load_bytes(planes + 64 * (kLow + High::kVector));
            return _mm256_or_si256(low, field<High::kFirst, kLow, kHigh>(high));
        }
    }
}

template <unsigned kBits, unsigned kStep = 0>
inline void unpack_steps(const std::uint8_t* planes, std::uint8_t (*values)[64]) {
    if constexpr (kStep < 8) {
        store_bytes(values[kStep], step_values<kBits, kStep>(planes));
        store_bytes(values[kStep] + 32, step_values<kBits, kStep>(planes + 32));
        unpack_steps<kBits, kStep + 1>(planes, values);
    }
}

// Eight of the half-precision numbers.
inline __m256 halves_at(const std::uint8_t* from) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i_u*>(from)));
}

// Eight bytes as numbers of 32 bits.
template <bool kSigned>
inline __m256i widen(const std::uint8_t* from) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i_u*>(from));
    return kSigned ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes);
}

// Two numbers of 16 bits in one of 32, the first one low.
inline __m256i paired(__m256i first, __m256i second) {
    return _mm256_blend_epi16(first, _mm256_slli_epi32(second, 16), 0b10101010);
}

template <unsigned kBits, bool kMinima>
void unpack_blocks(const std::uint8_t* chunk, std::size_t n_blocks, std::uint8_t* unpacked) {
    auto& to = *reinterpret_cast<UnpackedBlocks*>(unpacked);
    const PackedChunk<kBits, 0, kMinima> from(chunk, n_blocks);
    for (std::size_t i = 0; i < n_blocks * kQuantPanel; i += 8) {
        const std::size_t block = i / kQuantPanel;
        const std::size_t lane = i % kQuantPanel;
        _mm256_store_ps(to.scales[block] + lane, halves_at(from.scales + 2 * i));
        if (kMinima) _mm256_store_ps(to.minima[block] + lane, halves_at(from.minima + 2 * i));
    }
    for (std::size_t i = 0; i < n_blocks; ++i) unpack_steps<kBits>(from.block(i), to.values + 8 * i);
}

// kTwice: scales are stored as pairs of the same number of 16 bits.
template <unsigned kBits, unsigned kParts, bool kMinima, bool kTwice>
void unpack_parts(const std::uint8_t* chunk, std::size_t n_blocks, std::uint8_t* unpacked) {
    auto& to = *reinterpret_cast<UnpackedParts*>(unpacked);
    const PackedChunk<kBits, kParts, kMinima> from(chunk, n_blocks);
    for (std::size_t i = 0; i < kQuantPanel; i += 8) {
        _mm256_store_ps(to.scale + i, halves_at(from.scales + 2 * i));
        if (kMinima) _mm256_store_ps(to.minimum + i, halves_at(from.minima + 2 * i));
        for (std::size_t part = 0; part < kParts; ++part) {
            const __m256i scale = widen<true>(from.parts + part * kQuantPanel + i);
            store_bytes(to.scales[part] + i, kTwice ? paired(scale, scale) : scale);
        }
        for (std::size_t pair = 0; pair < kParts / 2; ++pair) {
            const std::uint8_t* two = from.twos(pair) + i;
            store_bytes(to.pairs[pair] + i, paired(widen<!kMinima>(two), widen<!kMinima>(two + kQuantPanel)));
        }
    }
    for (std::size_t i = 0; i < n_blocks; ++i) unpack_steps<kBits>(from.block(i), to.values + 8 * i);
}

// What the sets of kernels of this processor have in common; see quant_tiles.h.
template <bool kTwice>
struct UnpackX86 {
    template <unsigned kBits, unsigned kParts, bool kMinima>
    static void unpack(const std::uint8_t* chunk, std::size_t n_blocks, std::uint8_t* unpacked) {
        if constexpr (kParts > 0) {
            unpack_parts<kBits, kParts, kMinima, kTwice>(chunk, n_blocks, unpacked);
        } else {
            unpack_blocks<kBits, kMinima>(chunk, n_blocks, unpacked);
        }
    }
};

}  // namespace

}  // namespace clasp::model::quant
