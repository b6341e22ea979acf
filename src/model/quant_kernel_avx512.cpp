// Compiled for AVX-512 with VNNI; runs only where the processor has them. One instruction multiplies a step
// of a panel by four bytes of a row: 16 outputs x 4 inputs, sums of 32 bits that cannot overflow.
#include <immintrin.h>

#include <cstring>

#include "model/quant_kernel.h"
#include "model/quant_unpack_x86.h"

namespace clasp::model::quant {

namespace {

constexpr std::size_t kTile = 8;  // rows at a time, whose sums stay in registers

inline __m512i broadcast(const void* from) {
    std::int32_t word = 0;
    std::memcpy(&word, from, sizeof(word));
    return _mm512_set1_epi32(word);
}

// The form with a mask, because g++ 12 warns about the plain one's own definition; shifts below likewise.
inline __m512 to_floats(__m512i numbers) {
    return _mm512_maskz_cvtepi32_ps(0xFFFF, numbers);
}

// kSteps steps of a panel times the rows of a tile.
template <std::size_t kRows, std::size_t kSteps>
inline void add_steps(const std::uint8_t (*weights)[64], const std::int8_t* values, __m512i (&dots)[kRows]) {
#pragma GCC unroll 8
    for (std::size_t step = 0; step < kSteps; ++step) {
        const __m512i w = _mm512_load_si512(weights[step]);
#pragma GCC unroll 8
        for (std::size_t row = 0; row < kRows; ++row) {
            dots[row] = _mm512_dpbusd_epi32(dots[row], w, broadcast(values + row * kQuantChunk + step * 4));
        }
    }
}

template <unsigned kBits, bool kMinima, std::size_t kRows>
inline void multiply_blocks(const UnpackedBlocks& weights, std::size_t n_blocks, const std::int8_t* values,
                            const BlockFacts* known, float* sums) {
    __m512 sum[kRows];
#pragma GCC unroll 8
    for (std::size_t row = 0; row < kRows; ++row) sum[row] = _mm512_loadu_ps(sums + row * kQuantPanel);
    for (std::size_t block = 0; block < n_blocks; ++block) {
        __m512i dots[kRows];
#pragma GCC unroll 8
        for (std::size_t row = 0; row < kRows; ++row) {
            dots[row] = kBits == 8 ? _mm512_set1_epi32(known[row].offset[block]) : _mm512_setzero_si512();
        }
        add_steps<kRows, 8>(weights.values + 8 * block, values + kQuantBlock * block, dots);
        const __m512 scale = _mm512_load_ps(weights.scales[block]);
#pragma GCC unroll 8
        for (std::size_t row = 0; row < kRows; ++row) {
            const __m512 input_scale = _mm512_set1_ps(known[row].scale[block]);
            const __m512 dot = to_floats(dots[row]);
            if constexpr (kMinima) {
                sum[row] = _mm512_fmadd_ps(_mm512_mul_ps(dot, input_scale), scale, sum[row]);
                sum[row] = _mm512_fmadd_ps(_mm512_set1_ps(known[row].sum[block]),
                                           _mm512_load_ps(weights.minima[block]), sum[row]);
            } else if constexpr (kBits == 8) {
                sum[row] = _mm512_fmadd_ps(_mm512_mul_ps(dot, input_scale), scale, sum[row]);
            } else {
                const __m512 part = _mm512_fmsub_ps(dot, input_scale, _mm512_set1_ps(known[row].sum[block]));
                sum[row] = _mm512_fmadd_ps(part, scale, sum[row]);
            }
        }
    }
#pragma GCC unroll 8
    for (std::size_t row = 0; row < kRows; ++row) _mm512_storeu_ps(sums + row * kQuantPanel, sum[row]);
}

template <unsigned kBits, unsigned kParts, bool kMinima, std::size_t kRows>
inline void multiply_parts(const UnpackedParts& weights, const std::int8_t* values, const ChunkFacts* known,
                           float* sums) {
    constexpr std::size_t kSteps = kQuantChunk / 4 / kParts;
    __m512i all[kRows];
#pragma GCC unroll 8
    for (std::size_t row = 0; row < kRows; ++row) all[row] = _mm512_setzero_si512();
    for (std::size_t part = 0; part < kParts; ++part) {
        __m512i dots[kRows];
#pragma GCC unroll 8
        for (std::size_t row = 0; row < kRows; ++row) dots[row] = _mm512_setzero_si512();
        add_steps<kRows, kSteps>(weights.values + kSteps * part, values + 4 * kSteps * part, dots);
        const __m512i scale = _mm512_load_si512(weights.scales[part]);
#pragma GCC unroll 8
        for (std::size_t row = 0; row < kRows; ++row) {
            all[row] = _mm512_add_epi32(all[row], _mm512_mullo_epi32(dots[row], scale));
        }
    }
    // What the offsets or the minima are multiplied with: the sums of the parts' bytes.
    __m512i taken[kRows];
#pragma GCC unroll 8
    for (std::size_t row = 0; row < kRows; ++row) taken[row] = _mm512_setzero_si512();
    for (std::size_t pair = 0; pair < kParts / 2; ++pair) {
        const __m512i two = _mm512_load_si512(weights.pairs[pair]);
#pragma GCC unroll 8
        for (std::size_t row = 0; row < kRows; ++row) {
            const std::int16_t* bytes = kParts == 8 ? known[row].sums32 : known[row].sums16;
            taken[row] = _mm512_dpwssd_epi32(taken[row], two, broadcast(bytes + 2 * pair));
        }
    }
    const __m512 scale = _mm512_load_ps(weights.scale);
#pragma GCC unroll 8
    for (std::size_t row = 0; row < kRows; ++row) {
        const __m512 input_scale = _mm512_set1_ps(known[row].scale);
        if constexpr (!kMinima) {
            all[row] = _mm512_sub_epi32(all[row], _mm512_maskz_slli_epi32(0xFFFF, taken[row], kBits - 1));
        }
        __m512 sum = _mm512_loadu_ps(sums + row * kQuantPanel);
        sum = _mm512_fmadd_ps(to_floats(all[row]), _mm512_mul_ps(scale, input_scale), sum);
        if constexpr (kMinima) {
            const __m512 minimum = _mm512_mul_ps(_mm512_load_ps(weights.minimum), input_scale);
            sum = _mm512_fnmadd_ps(to_floats(taken[row]), minimum, sum);
        }
        _mm512_storeu_ps(sums + row * kQuantPanel, sum);
    }
}

template <unsigned kBits, unsigned kParts, bool kMinima>
struct Make512 {
    template <std::size_t kRows>
    static void tile(const std::uint8_t* unpacked, std::size_t n_blocks, const std::int8_t* values,
                     const std::uint8_t* facts, float* sums) {
        if constexpr (kParts > 0) {
            multiply_parts<kBits, kParts, kMinima, kRows>(*reinterpret_cast<const UnpackedParts*>(unpacked),
                                                          values, reinterpret_cast<const ChunkFacts*>(facts),
                                                          sums);
        } else {
            multiply_blocks<kBits, kMinima, kRows>(*reinterpret_cast<const UnpackedBlocks*>(unpacked),
                                                   n_blocks, values,
                                                   reinterpret_cast<const BlockFacts*>(facts), sums);
        }
    }

    static void multiply(const std::uint8_t* unpacked, std::size_t n_blocks, const std::int8_t* values,
                         const std::uint8_t* facts, std::size_t n_rows, float* sums) {
        for (; n_rows >= kTile; n_rows -= kTile) {
            tile<kTile>(unpacked, n_blocks, values, facts, sums);
            values += kTile * kQuantChunk;
            facts += kTile * kFactsBytes;
            sums += kTile * kQuantPanel;
        }
        switch (n_rows) {
            case 1: return tile<1>(unpacked, n_blocks, values, facts, sums);
            case 2: return tile<2>(unpacked, n_blocks, values, facts, sums);
            case 3: return tile<3>(unpacked, n_blocks, values, facts, sums);
            case 4: return tile<4>(unpacked, n_blocks, values, facts, sums);
            case 5: return tile<5>(unpacked, n_blocks, values, facts, sums);
            case 6: return tile<6>(unpacked, n_blocks, values, facts, sums);
            case 7: return tile<7>(unpacked, n_blocks, values, facts, sums);
            default: return;
        }
    }

    static Kernel kernel() {
        if constexpr (kParts > 0)
            return {unpack_parts<kBits, kParts, kMinima, false>, multiply};
        else
            return {unpack_blocks<kBits, kMinima>, multiply};
    }
};

}  // namespace

Kernel avx512_kernel(const QuantFormat& format) {
    return kernel_of<Make512>(format);
}

}  // namespace clasp::model::quant
