// Compiled for AVX-512 with VNNI; runs only where the processor has them. One instruction multiplies a step
// of a panel by four bytes of a row: 16 outputs x 4 inputs, sums of 32 bits that cannot overflow.
#include <immintrin.h>

#include <cstring>

#include "model/quant_tiles.h"
#include "model/quant_unpack_x86.h"

namespace clasp::model::quant {

namespace {

inline __m512i broadcast(const void* from) {
    std::int32_t word = 0;
    std::memcpy(&word, from, sizeof(word));
    return _mm512_set1_epi32(word);
}

// The form with a mask, because g++ 12 warns about the plain one's own definition; shifts below likewise.
inline __m512 to_floats(__m512i numbers) {
    return _mm512_maskz_cvtepi32_ps(0xFFFF, numbers);
}

inline __m512i load_512(const void* from) {
    return _mm512_loadu_si512(from);
}

template <unsigned kFirst, unsigned kTo, unsigned kBits>
inline __m512i field_512(__m512i bytes) {
    if constexpr (kFirst > kTo) bytes = _mm512_srli_epi16(bytes, kFirst - kTo);
    if constexpr (kFirst < kTo) bytes = _mm512_slli_epi16(bytes, kTo - kFirst);
    return _mm512_and_si512(bytes, _mm512_set1_epi8(static_cast<char>(((1U << kBits) - 1U) << kTo)));
}

inline __m512 halves_512(const std::uint8_t* from) {
    return _mm512_maskz_cvtph_ps(0xFFFF, load_bytes(from));
}

template <bool kSigned>
inline __m512i widen_512(const std::uint8_t* from) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i_u*>(from));
    return kSigned ? _mm512_maskz_cvtepi8_epi32(0xFFFF, bytes) : _mm512_maskz_cvtepu8_epi32(0xFFFF, bytes);
}

template <unsigned kBits, unsigned kParts, bool kMinima>
struct FromPacked : PackedChunk<kBits, kParts, kMinima> {
    using PackedChunk<kBits, kParts, kMinima>::PackedChunk;

    template <unsigned kStep>
    [[nodiscard]] __m512i values(std::size_t block) const {
        const std::uint8_t* from = this->block(block);
        if constexpr (kBits == 8) {
            return load_512(from + 64 * kStep);
        } else {
            constexpr unsigned kLow = kLowBits<kBits>;
            constexpr unsigned kHigh = kBits - kLow;
            using Low = Place<kLow, kStep>;
            const __m512i low = field_512<Low::kFirst, 0, kLow>(load_512(from + 64 * Low::kVector));
            if constexpr (kHigh == 0) {
                return low;
            } else {
                using High = Place<kHigh, kStep>;
                const __m512i high = load_512(from + 64 * (kLow + High::kVector));
                return _mm512_or_si512(low, field_512<High::kFirst, kLow, kHigh>(high));
            }
        }
    }
    [[nodiscard]] __m512 scale(std::size_t block) const {
        return halves_512(this->scales + this->kLine * block);
    }
    [[nodiscard]] __m512 minimum(std::size_t block) const {
        return halves_512(this->minima + this->kLine * block);
    }
    [[nodiscard]] __m512i part_scale(std::size_t part) const {
        return widen_512<true>(this->parts + part * kQuantPanel);
    }
    [[nodiscard]] __m512i pair(std::size_t i) const {
        const __m512i first = widen_512<!kMinima>(this->twos(i));
        const __m512i second = widen_512<!kMinima>(this->twos(i) + kQuantPanel);
        return _mm512_mask_blend_epi16(0xAAAAAAAA, first, _mm512_maskz_slli_epi32(0xFFFF, second, 16));
    }
};

struct FromUnpackedBlocks {
    FromUnpackedBlocks(const std::uint8_t* unpacked, std::size_t /*n_blocks*/)
        : from(*reinterpret_cast<const UnpackedBlocks*>(unpacked)) {}

    template <unsigned kStep>
    [[nodiscard]] __m512i values(std::size_t block) const {
        return load_512(from.values[8 * block + kStep]);
    }
    [[nodiscard]] __m512 scale(std::size_t block) const { return _mm512_load_ps(from.scales[block]); }
    [[nodiscard]] __m512 minimum(std::size_t block) const { return _mm512_load_ps(from.minima[block]); }

    const UnpackedBlocks& from;
};

struct FromUnpackedParts {
    FromUnpackedParts(const std::uint8_t* unpacked, std::size_t /*n_blocks*/)
        : from(*reinterpret_cast<const UnpackedParts*>(unpacked)) {}

    template <unsigned kStep>
    [[nodiscard]] __m512i values(std::size_t block) const {
        return load_512(from.values[8 * block + kStep]);
    }
    [[nodiscard]] __m512 scale(std::size_t /*block*/) const { return _mm512_load_ps(from.scale); }
    [[nodiscard]] __m512 minimum(std::size_t /*block*/) const { return _mm512_load_ps(from.minimum); }
    [[nodiscard]] __m512i part_scale(std::size_t part) const { return load_512(from.scales[part]); }
    [[nodiscard]] __m512i pair(std::size_t i) const { return load_512(from.pairs[i]); }

    const UnpackedParts& from;
};

// Steps kStep ... kEnd - 1 of a block times the rows of a tile.
template <unsigned kStep, unsigned kEnd, std::size_t kRows, typename Source>
[[gnu::always_inline]] inline void add_steps(const Source& source, std::size_t block,
                                             const std::int8_t* values, __m512i (&dots)[kRows]) {
    if constexpr (kStep < kEnd) {
        const __m512i w = source.template values<kStep>(block);
#pragma GCC unroll 8
        for (std::size_t row = 0; row < kRows; ++row) {
            dots[row] = _mm512_dpbusd_epi32(
                dots[row], w, broadcast(values + row * kQuantChunk + block * kQuantBlock + kStep * 4));
        }
        add_steps<kStep + 1, kEnd>(source, block, values, dots);
    }
}

template <bool kMinima, std::size_t kRows, typename Source>
inline void multiply_blocks(const Source& source, std::size_t n_blocks, const std::int8_t* values,
                            const BlockFacts* known, float* sums) {
    __m512 sum[kRows];
#pragma GCC unroll 8
    for (std::size_t row = 0; row < kRows; ++row) sum[row] = _mm512_loadu_ps(sums + row * kQuantPanel);
    for (std::size_t block = 0; block < n_blocks; ++block) {
        __m512i dots[kRows];
#pragma GCC unroll 8
        for (std::size_t row = 0; row < kRows; ++row) {
            dots[row] = kMinima ? _mm512_setzero_si512() : _mm512_set1_epi32(known[row].offset[block]);
        }
        add_steps<0, 8>(source, block, values, dots);
        const __m512 scale = source.scale(block);
#pragma GCC unroll 8
        for (std::size_t row = 0; row < kRows; ++row) {
            const __m512 both_scales = _mm512_mul_ps(scale, _mm512_set1_ps(known[row].scale[block]));
            sum[row] = _mm512_fmadd_ps(to_floats(dots[row]), both_scales, sum[row]);
            if constexpr (kMinima) {
                sum[row] =
                    _mm512_fmadd_ps(_mm512_set1_ps(known[row].sum[block]), source.minimum(block), sum[row]);
            }
        }
    }
#pragma GCC unroll 8
    for (std::size_t row = 0; row < kRows; ++row) _mm512_storeu_ps(sums + row * kQuantPanel, sum[row]);
}

// The parts of one block, of kSteps steps each.
template <unsigned kSteps, std::size_t kRows, unsigned kStep = 0, typename Source>
[[gnu::always_inline]] inline void add_parts(const Source& source, std::size_t block,
                                             const std::int8_t* values, __m512i (&all)[kRows]) {
    if constexpr (kStep < 8) {
        __m512i dots[kRows];
#pragma GCC unroll 8
        for (std::size_t row = 0; row < kRows; ++row) dots[row] = _mm512_setzero_si512();
        add_steps<kStep, kStep + kSteps>(source, block, values, dots);
        const __m512i scale = source.part_scale((8 * block + kStep) / kSteps);
#pragma GCC unroll 8
        for (std::size_t row = 0; row < kRows; ++row) {
            all[row] = _mm512_add_epi32(all[row], _mm512_mullo_epi32(dots[row], scale));
        }
        add_parts<kSteps, kRows, kStep + kSteps>(source, block, values, all);
    }
}

template <unsigned kBits, unsigned kParts, bool kMinima, std::size_t kRows, typename Source>
inline void multiply_parts(const Source& source, const std::int8_t* values, const ChunkFacts* known,
                           float* sums) {
    __m512i all[kRows];
#pragma GCC unroll 8
    for (std::size_t row = 0; row < kRows; ++row) all[row] = _mm512_setzero_si512();
    for (std::size_t block = 0; block < kQuantChunkBlocks; ++block) {
        add_parts<kQuantChunk / 4 / kParts, kRows>(source, block, values, all);
    }
    // What the offsets or the minima are multiplied with: the sums of the parts' bytes.
    __m512i taken[kRows];
#pragma GCC unroll 8
    for (std::size_t row = 0; row < kRows; ++row) taken[row] = _mm512_setzero_si512();
    for (std::size_t pair = 0; pair < kParts / 2; ++pair) {
        const __m512i two = source.pair(pair);
#pragma GCC unroll 8
        for (std::size_t row = 0; row < kRows; ++row) {
            const std::int16_t* bytes = kParts == 8 ? known[row].sums32 : known[row].sums16;
            taken[row] = _mm512_dpwssd_epi32(taken[row], two, broadcast(bytes + 2 * pair));
        }
    }
    const __m512 scale = source.scale(0);
#pragma GCC unroll 8
    for (std::size_t row = 0; row < kRows; ++row) {
        const __m512 input_scale = _mm512_set1_ps(known[row].scale);
        if constexpr (!kMinima) {
            all[row] = _mm512_sub_epi32(all[row], _mm512_maskz_slli_epi32(0xFFFF, taken[row], kBits - 1));
        }
        __m512 sum = _mm512_loadu_ps(sums + row * kQuantPanel);
        sum = _mm512_fmadd_ps(to_floats(all[row]), _mm512_mul_ps(scale, input_scale), sum);
        if constexpr (kMinima) {
            const __m512 minimum = _mm512_mul_ps(source.minimum(0), input_scale);
            sum = _mm512_fnmadd_ps(to_floats(taken[row]), minimum, sum);
        }
        _mm512_storeu_ps(sums + row * kQuantPanel, sum);
    }
}

struct Set512 : UnpackX86<false> {
    static constexpr std::size_t kTile = 8;  // rows at a time, whose sums stay in registers
    template <unsigned kBits>
    static constexpr std::size_t kFewRows = kBits == 8 ? kAnyRows
                                                       : (kBits == 6 ? 32 : (kBits == 5 ? 48 : 64));
    template <unsigned kBits, unsigned kParts, bool kMinima>
    using Packed = FromPacked<kBits, kParts, kMinima>;
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
struct Make512 : TiledKernel<Set512, kBits, kParts, kMinima> {};

}  // namespace

Kernel avx512_kernel(const QuantFormat& format) {
    return kernel_of<Make512>(format);
}

}  // namespace clasp::model::quant
