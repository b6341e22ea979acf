// Compiled with -mavx2 -mfma -mf16c; runs only where the processor has them. Products of an unsigned and a
// signed byte are added in pairs to 16 bits, which a few steps share before they are widened: as many as fit
// for sure.
#include <immintrin.h>

#include <cstring>

#include "model/quant_kernel.h"
#include "model/quant_unpack_x86.h"

namespace clasp::model::quant {

namespace {

constexpr std::size_t kTile = 4;  // rows at a time: two sums each, of eight outputs

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

inline __m256i broadcast(const void* from) {
    std::int32_t word = 0;
    std::memcpy(&word, from, sizeof(word));
    return _mm256_set1_epi32(word);
}

inline __m256i load_aligned(const void* from) {
    return _mm256_load_si256(static_cast<const __m256i*>(from));
}

// Half a panel is eight outputs, one register. Bytes of 8 bits come as signed numbers.
template <unsigned kBits, unsigned kParts, bool kMinima>
struct FromPacked : PackedChunk<kBits, kParts, kMinima> {
    using PackedChunk<kBits, kParts, kMinima>::PackedChunk;

    template <unsigned kStep>
    [[nodiscard]] __m256i values(std::size_t block, std::size_t half) const {
        const __m256i bytes = step_values<kBits, kStep>(this->block(block) + 32 * half);
        return kBits == 8 ? _mm256_xor_si256(bytes, _mm256_set1_epi8(-128)) : bytes;
    }
    [[nodiscard]] __m256 scale(std::size_t block, std::size_t half) const {
        return halves_at(this->scales + this->kLine * block + 16 * half);
    }
    [[nodiscard]] __m256 minimum(std::size_t block, std::size_t half) const {
        return halves_at(this->minima + this->kLine * block + 16 * half);
    }
    // Twice, as pairs of 16 bits.
    [[nodiscard]] __m256i part_scale(std::size_t part, std::size_t half) const {
        const __m256i scale = widen<true>(this->parts + part * kQuantPanel + 8 * half);
        return paired(scale, scale);
    }
    [[nodiscard]] __m256i pair(std::size_t i, std::size_t half) const {
        const std::uint8_t* two = this->twos(i) + 8 * half;
        return paired(widen<!kMinima>(two), widen<!kMinima>(two + kQuantPanel));
    }
};

template <unsigned kBits>
struct FromUnpackedBlocks {
    FromUnpackedBlocks(const std::uint8_t* unpacked, std::size_t /*n_blocks*/)
        : from(*reinterpret_cast<const UnpackedBlocks*>(unpacked)) {}

    template <unsigned kStep>
    [[nodiscard]] __m256i values(std::size_t block, std::size_t half) const {
        const __m256i bytes = load_aligned(from.values[8 * block + kStep] + 32 * half);
        return kBits == 8 ? _mm256_xor_si256(bytes, _mm256_set1_epi8(-128)) : bytes;
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
        const __m256i w[2] = {source.template values<kStep>(block, 0),
                              source.template values<kStep>(block, 1)};
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
            const __m256 input_sum = _mm256_set1_ps(known[row].sum[block]);
#pragma GCC unroll 2
            for (std::size_t half = 0; half < 2; ++half) {
                const __m256 scale = scales[half];
                float* place = sums + row * kQuantPanel + 8 * half;
                const __m256 dot = _mm256_cvtepi32_ps(dots[row][half]);
                __m256 sum = _mm256_loadu_ps(place);
                if constexpr (kMinima) {
                    sum = _mm256_fmadd_ps(_mm256_mul_ps(dot, input_scale), scale, sum);
                    sum = _mm256_fmadd_ps(input_sum, source.minimum(block, half), sum);
                } else if constexpr (kBits == 8) {
                    sum = _mm256_fmadd_ps(_mm256_mul_ps(dot, input_scale), scale, sum);
                } else {
                    sum = _mm256_fmadd_ps(_mm256_fmsub_ps(dot, input_scale, input_sum), scale, sum);
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

template <unsigned kBits, unsigned kParts, bool kMinima>
struct Make256 {
    template <std::size_t kRows, typename Source>
    static void tile(const std::uint8_t* from, std::size_t n_blocks, const std::int8_t* values,
                     const std::uint8_t* facts, float* sums) {
        const Source source(from, n_blocks);
        if constexpr (kParts > 0) {
            multiply_parts<kBits, kParts, kMinima, kRows>(source, values,
                                                          reinterpret_cast<const ChunkFacts*>(facts), sums);
        } else {
            multiply_blocks<kBits, kMinima, kRows>(source, n_blocks, values,
                                                   reinterpret_cast<const BlockFacts*>(facts), sums);
        }
    }

    // At most a tile.
    template <typename Source>
    static void few(const std::uint8_t* from, std::size_t n_blocks, const std::int8_t* values,
                    const std::uint8_t* facts, std::size_t n_rows, float* sums) {
        switch (n_rows) {
            case 1: return tile<1, Source>(from, n_blocks, values, facts, sums);
            case 2: return tile<2, Source>(from, n_blocks, values, facts, sums);
            case 3: return tile<3, Source>(from, n_blocks, values, facts, sums);
            case 4: return tile<4, Source>(from, n_blocks, values, facts, sums);
            default: return;
        }
    }

    template <typename Source>
    static void multiply(const std::uint8_t* unpacked, std::size_t n_blocks, const std::int8_t* values,
                         const std::uint8_t* facts, std::size_t n_rows, float* sums) {
        for (; n_rows > kTile; n_rows -= kTile) {
            tile<kTile, Source>(unpacked, n_blocks, values, facts, sums);
            values += kTile * kQuantChunk;
            facts += kTile * kFactsBytes;
            sums += kTile * kQuantPanel;
        }
        few<Source>(unpacked, n_blocks, values, facts, n_rows, sums);
    }

    static Kernel kernel() {
        constexpr auto kFew = few<FromPacked<kBits, kParts, kMinima>>;
        if constexpr (kParts > 0) {
            return {kFew, unpack_parts<kBits, kParts, kMinima, true>, multiply<FromUnpackedParts>};
        } else {
            return {kFew, unpack_blocks<kBits, kMinima>, multiply<FromUnpackedBlocks<kBits>>};
        }
    }
};
static_assert(kTile == kFewRows);

// The largest magnitude of 32 values, and NaN when one is not finite.
inline __m256 largest_of(const float* x, std::size_t n, __m256& blemish) {
    const __m256 magnitude = _mm256_castsi256_ps(_mm256_set1_epi32(0x7FFFFFFF));
    const __m256 zero = _mm256_setzero_ps();
    __m256 tops = zero;
    for (std::size_t i = 0; i < n; i += 8) {
        const __m256 values = _mm256_loadu_ps(x + i);
        tops = _mm256_max_ps(tops, _mm256_and_ps(values, magnitude));
        blemish = _mm256_fmadd_ps(values, zero, blemish);
    }
    return tops;
}

inline float top_of(__m256 tops) {
    __m128 top = _mm_max_ps(_mm256_castps256_ps128(tops), _mm256_extractf128_ps(tops, 1));
    top = _mm_max_ps(top, _mm_movehl_ps(top, top));
    top = _mm_max_ss(top, _mm_movehdup_ps(top));
    return _mm_cvtss_f32(top);
}

inline int sum_of(__m256i numbers) {
    __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(numbers), _mm256_extracti128_si256(numbers, 1));
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0b01001110));
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0b10110001));
    return _mm_cvtsi128_si32(sum);
}

// A scale for n values and what they are multiplied with; both 0 where all are close to zero, NaN and 0 where
// one is not finite.
inline float scale_of(const float* x, std::size_t n, float& inverse) {
    __m256 blemish = _mm256_setzero_ps();
    const float top = top_of(largest_of(x, n, blemish));
    const bool is_finite = _mm256_movemask_ps(_mm256_cmp_ps(blemish, blemish, _CMP_UNORD_Q)) == 0;
    inverse = 0.0F;
    if (!is_finite) return __builtin_nanf("");
    if (top == 0.0F) return 0.0F;
    inverse = static_cast<float>(kMaxByte) / top;
    if (inverse > 3.4028234e38F) {
        inverse = 0.0F;
        return 0.0F;
    }
    return top / static_cast<float>(kMaxByte);
}

// Rounds 32 values; returns their sums over the first and the last 16.
inline void round_32(const float* x, __m256 inverse, bool is_zero, std::int8_t* values, int& first,
                     int& last) {
    __m256i words[4];
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i) {
        words[i] = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 8 * i), inverse));
        if (is_zero) words[i] = _mm256_setzero_si256();
    }
    first = sum_of(_mm256_add_epi32(words[0], words[1]));
    last = sum_of(_mm256_add_epi32(words[2], words[3]));
    const __m256i shorts = _mm256_packs_epi32(words[0], words[1]);
    const __m256i more = _mm256_packs_epi32(words[2], words[3]);
    // packs works within halves: put the eight pieces back in order
    const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(shorts, more),
                                                      _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    store_bytes(values, bytes);
}

}  // namespace

Kernel avx2_kernel(const QuantFormat& format) {
    return kernel_of<Make256>(format);
}

void round_chunk_avx2(const float* x, std::size_t n_blocks, QuantRowKind kind, std::int8_t* values,
                      std::uint8_t* facts) {
    int first = 0;
    int last = 0;
    float inverse = 0.0F;
    if (kind == QuantRowKind::Chunk) {
        ChunkFacts known = {};
        known.scale = scale_of(x, kQuantChunk, inverse);
        for (std::size_t i = 0; i < kQuantChunkBlocks; ++i) {
            round_32(x + i * kQuantBlock, _mm256_set1_ps(inverse), inverse == 0.0F, values + i * kQuantBlock,
                     first, last);
            known.sums16[2 * i] = static_cast<std::int16_t>(first);
            known.sums16[2 * i + 1] = static_cast<std::int16_t>(last);
            known.sums32[i] = static_cast<std::int16_t>(first + last);
        }
        std::memcpy(facts, &known, sizeof(known));
        return;
    }
    BlockFacts known = {};
    for (std::size_t i = 0; i < n_blocks; ++i) {
        const float scale = scale_of(x + i * kQuantBlock, kQuantBlock, inverse);
        round_32(x + i * kQuantBlock, _mm256_set1_ps(inverse), inverse == 0.0F, values + i * kQuantBlock,
                 first, last);
        const int sum = first + last;
        known.scale[i] = scale;
        switch (kind) {
            case QuantRowKind::Offset8: known.sum[i] = static_cast<float>(8 * sum) * scale; break;
            case QuantRowKind::Offset16: known.sum[i] = static_cast<float>(16 * sum) * scale; break;
            case QuantRowKind::Sum: known.sum[i] = static_cast<float>(sum) * scale; break;
            default: known.offset[i] = -128 * sum; break;
        }
    }
    std::memcpy(facts, &known, sizeof(known));
}

}  // namespace clasp::model::quant
