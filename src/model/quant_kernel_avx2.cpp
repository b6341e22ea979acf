// Compiled with -mavx2 -mfma -mf16c; runs only where the processor has them. Products of an unsigned and a
// signed byte are added in pairs to 16 bits, which a few steps share before they are widened: as many as fit
// for sure.
#include <immintrin.h>

#include "model/quant_sources_256.h"
#include "model/quant_tiles.h"
#include "model/quant_unpack_x86.h"

namespace clasp::model::quant {

namespace {

// Steps whose 16-bit sums fit: each adds two products of at most (2^bits - 1) * 127. Bytes of 8 bits are
// multiplied with their sign on the other factor: at most 128 * 127.
constexpr int largest_pair(unsigned n_bits) {
    return 2 * kMaxByte * (n_bits == 8 ? 128 : (1 << n_bits) - 1);
}
constexpr unsigned depth_of(unsigned n_bits) {
    unsigned depth = 1;
    while (depth < 8 && static_cast<int>(2 * depth) * largest_pair(n_bits) <= INT16_MAX) depth *= 2;
    return depth;
}
static_assert(depth_of(4) == 8 && depth_of(5) == 4 && depth_of(6) == 2 && depth_of(8) == 1);
static_assert(largest_pair(8) <= INT16_MAX);

// sum + more, now: left to itself the compiler adds products in pairs first, for which registers do not
// suffice.
inline __m256i add_at_once(__m256i sum, __m256i more) {
    sum = _mm256_add_epi16(sum, more);
    asm("" : "+x"(sum));  // NOLINT(hicpp-no-assembler): no instruction, only an order
    return sum;
}
inline __m256i add_words_at_once(__m256i sum, __m256i more) {
    sum = _mm256_add_epi32(sum, more);
    asm("" : "+x"(sum));  // NOLINT(hicpp-no-assembler): no instruction, only an order
    return sum;
}

// Steps kStep ... kEnd - 1 of a block times the rows of a tile, sums of 16 bits that begin with step kBegin.
template <unsigned kBegin, unsigned kEnd, std::size_t kRows, unsigned kStep = kBegin, typename Source>
[[gnu::always_inline]] inline void multiply_steps(const Source& source, std::size_t block,
                                                  const std::int8_t* values, __m256i (&dots)[kRows][2]) {
    if constexpr (kStep < kEnd) {
        const __m256i low = source.template values<kStep>(block, 0);
        const __m256i high = source.template values<kStep>(block, 1);
#pragma GCC unroll 4
        for (std::size_t row = 0; row < kRows; ++row) {
            const __m256i x = broadcast(values + row * kQuantChunk + block * kQuantBlock + kStep * 4);
            const __m256i first = _mm256_maddubs_epi16(low, x);
            const __m256i second = _mm256_maddubs_epi16(high, x);
            dots[row][0] = kStep == kBegin ? first : add_at_once(dots[row][0], first);
            dots[row][1] = kStep == kBegin ? second : add_at_once(dots[row][1], second);
        }
        multiply_steps<kBegin, kEnd, kRows, kStep + 1>(source, block, values, dots);
    }
}

// The sums of a block of 32 inputs, 32 bits, kDepth steps at a time.
template <unsigned kDepth, std::size_t kRows, unsigned kStep = 0, typename Source>
[[gnu::always_inline]] inline void block_dots(const Source& source, std::size_t block,
                                              const std::int8_t* values, __m256i (&dots)[kRows][2]) {
    if constexpr (kStep < 8) {
        const __m256i ones = _mm256_set1_epi16(1);
        __m256i part[kRows][2];
        multiply_steps<kStep, kStep + kDepth, kRows>(source, block, values, part);
#pragma GCC unroll 4
        for (std::size_t row = 0; row < kRows; ++row) {
#pragma GCC unroll 2
            for (std::size_t half = 0; half < 2; ++half) {
                const __m256i wide = _mm256_madd_epi16(part[row][half], ones);
                dots[row][half] = kStep == 0 ? wide : _mm256_add_epi32(dots[row][half], wide);
            }
        }
        block_dots<kDepth, kRows, kStep + kDepth>(source, block, values, dots);
    }
}

// The same for signed bytes: their sign goes to the other factor.
template <std::size_t kRows, unsigned kStep = 0, typename Source>
[[gnu::always_inline]] inline void signed_block_dots(const Source& source, std::size_t block,
                                                     const std::int8_t* values, __m256i (&dots)[kRows][2]) {
    if constexpr (kStep < 8) {
        const __m256i ones = _mm256_set1_epi16(1);
        const __m256i sign = _mm256_set1_epi8(-128);
        const __m256i w[2] = {_mm256_xor_si256(source.template values<kStep>(block, 0), sign),
                              _mm256_xor_si256(source.template values<kStep>(block, 1), sign)};
        const __m256i magnitude[2] = {_mm256_abs_epi8(w[0]), _mm256_abs_epi8(w[1])};
#pragma GCC unroll 4
        for (std::size_t row = 0; row < kRows; ++row) {
            const __m256i x = broadcast(values + row * kQuantChunk + block * kQuantBlock + kStep * 4);
#pragma GCC unroll 2
            for (std::size_t half = 0; half < 2; ++half) {
                const __m256i pairs = _mm256_maddubs_epi16(magnitude[half], _mm256_sign_epi8(x, w[half]));
                const __m256i wide = _mm256_madd_epi16(pairs, ones);
                dots[row][half] = kStep == 0 ? wide : add_words_at_once(dots[row][half], wide);
            }
        }
        signed_block_dots<kRows, kStep + 1>(source, block, values, dots);
    }
}

template <unsigned kBits, bool kMinima, std::size_t kRows, typename Source>
inline void multiply_blocks(const Source& source, std::size_t n_blocks, const std::int8_t* values,
                            const BlockFacts* known, float* sums) {
    for (std::size_t block = 0; block < n_blocks; ++block) {
        __m256i dots[kRows][2];
        if constexpr (kBits == 8) {
            signed_block_dots<kRows>(source, block, values, dots);
        } else {
            block_dots<depth_of(kBits), kRows>(source, block, values, dots);
        }
        const __m256 scales[2] = {source.scale(block, 0), source.scale(block, 1)};
#pragma GCC unroll 4
        for (std::size_t row = 0; row < kRows; ++row) {
            const __m256 input_scale = _mm256_set1_ps(known[row].scale[block]);
            const __m256i offset = _mm256_set1_epi32(known[row].offset[block]);
#pragma GCC unroll 2
            for (std::size_t half = 0; half < 2; ++half) {
                __m256i dot = dots[row][half];
                if constexpr (!kMinima && kBits != 8) dot = _mm256_add_epi32(dot, offset);
                float* place = sums + row * kQuantPanel + 8 * half;
                __m256 sum =
                    _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot), _mm256_mul_ps(scales[half], input_scale),
                                    _mm256_loadu_ps(place));
                if constexpr (kMinima) {
                    const __m256 input_sum = _mm256_set1_ps(known[row].sum[block]);
                    sum = _mm256_fmadd_ps(input_sum, source.minimum(block, half), sum);
                }
                _mm256_storeu_ps(place, sum);
            }
        }
    }
}

// The parts of one block, of kSteps steps each. A part's scale takes the place of the ones that widen.
template <unsigned kBits, unsigned kSteps, std::size_t kRows, unsigned kStep = 0, typename Source>
[[gnu::always_inline]] inline void add_parts(const Source& source, std::size_t block,
                                             const std::int8_t* values, __m256i (&all)[kRows][2]) {
    if constexpr (kStep < 8) {
        constexpr unsigned kDepth = depth_of(kBits) < kSteps ? depth_of(kBits) : kSteps;
        __m256i dots[kRows][2];
        multiply_steps<kStep, kStep + kDepth, kRows>(source, block, values, dots);
#pragma GCC unroll 2
        for (std::size_t half = 0; half < 2; ++half) {
            const __m256i scale = source.part_scale((8 * block + kStep) / kSteps, half);
#pragma GCC unroll 4
            for (std::size_t row = 0; row < kRows; ++row) {
                all[row][half] = _mm256_add_epi32(all[row][half], _mm256_madd_epi16(dots[row][half], scale));
            }
        }
        add_parts<kBits, kSteps, kRows, kStep + kDepth>(source, block, values, all);
    }
}

template <unsigned kBits, unsigned kParts, bool kMinima, std::size_t kRows, typename Source>
inline void multiply_parts(const Source& source, const std::int8_t* values, const ChunkFacts* known,
                           float* sums) {
    __m256i all[kRows][2];
#pragma GCC unroll 4
    for (std::size_t row = 0; row < kRows; ++row) all[row][0] = all[row][1] = _mm256_setzero_si256();
    for (std::size_t block = 0; block < kQuantChunkBlocks; ++block) {
        add_parts<kBits, kQuantChunk / 4 / kParts, kRows>(source, block, values, all);
    }
    finish_parts<kBits, kParts, kMinima, kRows>(source, known, all, sums);
}

struct Set256 : UnpackX86<true> {
    static constexpr std::size_t kTile = 4;  // rows at a time: two sums each, of eight outputs
    template <unsigned kBits>
    static constexpr std::size_t kFewRows = kBits <= 3 || kBits == 8 ? 24 : (kBits == 4 ? 16 : 4);
    template <unsigned kBits, unsigned kParts, bool kMinima>
    using Packed = FromPacked<kBits, kParts, kMinima, true>;
    using UnpackedInBlocks = FromUnpackedBlocks;
    using UnpackedInParts = FromUnpackedParts;

    template <unsigned kBits, bool kMinima, std::size_t kRows, typename... Arguments>
    static void blocks(const Arguments&... arguments) {
        multiply_blocks<kBits, kMinima, kRows>(arguments...);
    }
    template <unsigned kBits, unsigned kParts, bool kMinima, std::size_t kRows, typename... Arguments>
    static void parts(const Arguments&... arguments) {
        multiply_parts<kBits, kParts, kMinima, kRows>(arguments...);
    }
};

template <unsigned kBits, unsigned kParts, bool kMinima>
struct Make256 : TiledKernel<Set256, kBits, kParts, kMinima> {};

// Bytes of 8 bits, unpacked to their upper and lower halves: 8 steps of each fit into sums of 16 bits, as
// with weights of 4 bits, where the sign trick widens after every step and needs half as many instructions
// more.
struct UnpackedNibbles {
    std::uint8_t low[kQuantChunk / 4][64];
    std::uint8_t high[kQuantChunk / 4][64];
    float scales[kQuantChunkBlocks][kQuantPanel];
};
static_assert(sizeof(UnpackedNibbles) <= kUnpackedBytes);

template <>
struct Make256<8, 0, false> : TiledKernel<Set256, 8, 0, false> {
    static constexpr std::size_t kPair = 2;  // rows at a time: two sums of either half each

    static void unpack(const std::uint8_t* chunk, std::size_t n_blocks, std::uint8_t* unpacked) {
        auto& to = *reinterpret_cast<UnpackedNibbles*>(unpacked);
        const PackedChunk<8, 0, false> from(chunk, n_blocks);
        for (std::size_t i = 0; i < n_blocks * kQuantPanel; i += 8) {
            _mm256_store_ps(to.scales[i / kQuantPanel] + i % kQuantPanel, halves_at(from.scales + 2 * i));
        }
        for (std::size_t i = 0; i < n_blocks * 8; ++i) {
            for (std::size_t half = 0; half < 64; half += 32) {
                const __m256i bytes = load_bytes(from.planes + 64 * i + half);
                store_bytes(to.low[i] + half, field<0, 0, 4>(bytes));
                store_bytes(to.high[i] + half, field<4, 0, 4>(bytes));
            }
        }
    }

    template <std::size_t kRows>
    static void rows(const UnpackedNibbles& from, std::size_t n_blocks, const std::int8_t* values,
                     const BlockFacts* known, float* sums) {
        const __m256i ones = _mm256_set1_epi16(1);
        const __m256i sixteens = _mm256_set1_epi16(16);
        for (std::size_t block = 0; block < n_blocks; ++block) {
            __m256i low[kRows][2];
            __m256i high[kRows][2];
#pragma GCC unroll 8
            for (std::size_t step = 0; step < 8; ++step) {
                const std::size_t line = 8 * block + step;
                __m256i x[kRows];
#pragma GCC unroll 2
                for (std::size_t row = 0; row < kRows; ++row) {
                    x[row] = broadcast(values + row * kQuantChunk + block * kQuantBlock + step * 4);
                }
#pragma GCC unroll 2
                for (std::size_t half = 0; half < 2; ++half) {
                    const __m256i lower = load_aligned(from.low[line] + 32 * half);
                    const __m256i upper = load_aligned(from.high[line] + 32 * half);
#pragma GCC unroll 2
                    for (std::size_t row = 0; row < kRows; ++row) {
                        const __m256i first = _mm256_maddubs_epi16(lower, x[row]);
                        const __m256i second = _mm256_maddubs_epi16(upper, x[row]);
                        low[row][half] = step == 0 ? first : add_at_once(low[row][half], first);
                        high[row][half] = step == 0 ? second : add_at_once(high[row][half], second);
                    }
                }
            }
#pragma GCC unroll 2
            for (std::size_t row = 0; row < kRows; ++row) {
                const __m256 input_scale = _mm256_set1_ps(known[row].scale[block]);
                const __m256i offset = _mm256_set1_epi32(known[row].offset[block]);
#pragma GCC unroll 2
                for (std::size_t half = 0; half < 2; ++half) {
                    __m256i dot = _mm256_add_epi32(_mm256_madd_epi16(low[row][half], ones),
                                                   _mm256_madd_epi16(high[row][half], sixteens));
                    dot = _mm256_add_epi32(dot, offset);
                    const __m256 scale = _mm256_load_ps(from.scales[block] + 8 * half);
                    float* place = sums + row * kQuantPanel + 8 * half;
                    _mm256_storeu_ps(
                        place, _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot), _mm256_mul_ps(scale, input_scale),
                                               _mm256_loadu_ps(place)));
                }
            }
        }
    }

    static void multiply(const std::uint8_t* unpacked, std::size_t n_blocks, const std::int8_t* values,
                         const std::uint8_t* facts, std::size_t n_rows, float* sums) {
        const auto& from = *reinterpret_cast<const UnpackedNibbles*>(unpacked);
        for (; n_rows >= kPair; n_rows -= kPair) {
            rows<kPair>(from, n_blocks, values, reinterpret_cast<const BlockFacts*>(facts), sums);
            values += kPair * kQuantChunk;
            facts += kPair * kFactsBytes;
            sums += kPair * kQuantPanel;
        }
        if (n_rows > 0) rows<1>(from, n_blocks, values, reinterpret_cast<const BlockFacts*>(facts), sums);
    }

    static Kernel kernel() {
        return {all<Set256::Packed<8, 0, false>>, Set256::kFewRows<8>, unpack, multiply};
    }
};

}  // namespace

Kernel avx2_kernel(const QuantFormat& format) {
    return kernel_of<Make256>(format);
}

}  // namespace clasp::model::quant
