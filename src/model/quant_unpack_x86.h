// Private to the x86 kernels of quant_matrix.h, each compiled with flags of its own: from a packed chunk to
// bytes and scales, in the first-level cache. One text for all of them.
#pragma once

#include <immintrin.h>

#include "model/quant_kernel.h"

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

// Moves bits `first` ... of every byte to `to` and clears the others. Shifts work on 16 bits; what crosses
// from the neighbouring byte is cleared.
template <int kFirst, int kTo, int kBits>
inline __m256i field(__m256i bytes) {
    if constexpr (kFirst > kTo) bytes = _mm256_srli_epi16(bytes, kFirst - kTo);
    if constexpr (kFirst < kTo) bytes = _mm256_slli_epi16(bytes, kTo - kFirst);
    return _mm256_and_si256(bytes, _mm256_set1_epi8(static_cast<char>(((1U << kBits) - 1U) << kTo)));
}

// Step kStep of a plane of kBits bits, half a vector, its bits moved to kTo.
template <int kBits, int kStep, int kTo>
inline __m256i from_plane(const std::uint8_t* plane) {
    constexpr int kPerVector = 8 / kBits;
    constexpr int kVector = kBits == 4 ? kStep % 4 : kStep / kPerVector;
    constexpr int kPlace = kBits == 4 ? kStep / 4 : kStep % kPerVector;
    return field<kPlace * kBits, kTo, kBits>(load_bytes(plane + 64 * kVector));
}

template <int kBits, int kStep>
inline __m256i step_values(const std::uint8_t* planes) {
    if constexpr (kBits == 8) {
        return load_bytes(planes + 64 * kStep);
    } else {
        constexpr int kLow = kBits >= 4 ? 4 : 2;
        const __m256i low = from_plane<kLow, kStep, 0>(planes);
        if constexpr (kBits == kLow)
            return low;
        else
            return _mm256_or_si256(low, from_plane<kBits - kLow, kStep, kLow>(planes + 64 * kLow));
    }
}

template <int kBits, int kStep = 0>
inline void unpack_steps(const std::uint8_t* planes, std::uint8_t (*values)[64]) {
    if constexpr (kStep < 8) {
        store_bytes(values[kStep], step_values<kBits, kStep>(planes));
        store_bytes(values[kStep] + 32, step_values<kBits, kStep>(planes + 32));
        unpack_steps<kBits, kStep + 1>(planes, values);
    }
}

inline void unpack_halves(const std::uint8_t* from, std::size_t n, float* to) {
    for (std::size_t i = 0; i < n; i += 8) {
        const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i_u*>(from + 2 * i));
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(halves));
    }
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

template <int kBits, bool kMinima>
void unpack_blocks(const std::uint8_t* chunk, std::size_t n_blocks, std::uint8_t* unpacked) {
    auto& to = *reinterpret_cast<UnpackedBlocks*>(unpacked);
    const std::size_t n_scales = n_blocks * kQuantPanel;
    unpack_halves(chunk, n_scales, to.scales[0]);
    chunk += 2 * n_scales;
    if (kMinima) {
        unpack_halves(chunk, n_scales, to.minima[0]);
        chunk += 2 * n_scales;
    }
    for (std::size_t i = 0; i < n_blocks; ++i) unpack_steps<kBits>(chunk + i * kBits * 64, to.values + 8 * i);
}

// kTwice: scales are stored as pairs of the same number of 16 bits.
template <int kBits, int kParts, bool kMinima, bool kTwice>
void unpack_parts(const std::uint8_t* chunk, std::size_t n_blocks, std::uint8_t* unpacked) {
    auto& to = *reinterpret_cast<UnpackedParts*>(unpacked);
    unpack_halves(chunk, kQuantPanel, to.scale);
    chunk += 2 * kQuantPanel;
    if (kMinima) {
        unpack_halves(chunk, kQuantPanel, to.minimum);
        chunk += 2 * kQuantPanel;
    }
    const std::uint8_t* scales = chunk;
    for (std::size_t i = 0; i < kParts * kQuantPanel; i += 8) {
        const __m256i scale = widen<true>(scales + i);
        store_bytes(to.scales[0] + i, kTwice ? paired(scale, scale) : scale);
    }
    const std::uint8_t* twos = kMinima ? scales + kParts * kQuantPanel : scales;
    for (std::size_t pair = 0; pair < kParts / 2; ++pair) {
        for (std::size_t i = 0; i < kQuantPanel; i += 8) {
            const std::uint8_t* from = twos + 2 * pair * kQuantPanel + i;
            store_bytes(to.pairs[pair] + i,
                        paired(widen<!kMinima>(from), widen<!kMinima>(from + kQuantPanel)));
        }
    }
    chunk = twos + kParts * kQuantPanel;
    for (std::size_t i = 0; i < n_blocks; ++i) unpack_steps<kBits>(chunk + i * kBits * 64, to.values + 8 * i);
}

}  // namespace

}  // namespace clasp::model::quant
