// Private to the kernels of quant_matrix.h for ARM, each compiled with flags of its own: where tiles read
// weights and scales, and the tiles of the dot product. Weights are signed here, their offset taken off; a
// quarter of a panel is four outputs, one register.
#pragma once

#include <arm_neon.h>

#include <cstring>

#include "model/quant_tiles.h"

namespace clasp::model::quant {

// A copy per file: the linker must not choose between copies for different processors.
namespace {

constexpr std::size_t kQuarters = 4;

struct UnpackedNeon {
    std::int8_t values[kQuantChunk / 4][64];
    float scales[kQuantChunkBlocks][kQuantPanel];  // of blocks; of the chunk first where there are parts
    float minima[kQuantChunkBlocks][kQuantPanel];
    std::int32_t part_scales[16][kQuantPanel];
    std::int32_t part_minima[16][kQuantPanel];
};
static_assert(sizeof(UnpackedNeon) <= kUnpackedBytes);

// Moves bits kFirst ... of every byte to kTo and clears the others.
template <unsigned kFirst, unsigned kTo, unsigned kBits>
inline uint8x16_t neon_field(uint8x16_t bytes) {
    if constexpr (kFirst > kTo) bytes = vshrq_n_u8(bytes, kFirst - kTo);
    if constexpr (kFirst < kTo) bytes = vshlq_n_u8(bytes, kTo - kFirst);
    return vandq_u8(bytes, vdupq_n_u8(((1U << kBits) - 1U) << kTo));
}

inline float32x4_t halves_at(const std::uint8_t* from) {
    return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(from)));
}

inline int32x4_t four_signed(const std::uint8_t* from) {
    std::int32_t word = 0;
    std::memcpy(&word, from, sizeof(word));
    return vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_s32(vdup_n_s32(word)))));
}

inline int32x4_t four_unsigned(const std::uint8_t* from) {
    std::uint32_t word = 0;
    std::memcpy(&word, from, sizeof(word));
    const uint16x8_t wide = vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(word)));
    return vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(wide)));
}

template <unsigned kBits, unsigned kParts, bool kMinima>
struct FromPacked : PackedChunk<kBits, kParts, kMinima> {
    using PackedChunk<kBits, kParts, kMinima>::PackedChunk;
    static constexpr std::uint8_t kOffset = kMinima ? 0 : 1U << (kBits - 1U);

    template <unsigned kStep>
    [[nodiscard]] int8x16_t values(std::size_t block, std::size_t quarter) const {
        const std::uint8_t* from = this->block(block) + 16 * quarter;
        uint8x16_t bytes;
        if constexpr (kBits == 8) {
            bytes = vld1q_u8(from + 64 * kStep);
        } else {
            constexpr unsigned kLow = kLowBits<kBits>;
            using Low = Place<kLow, kStep>;
            bytes = neon_field<Low::kFirst, 0, kLow>(vld1q_u8(from + 64 * Low::kVector));
            if constexpr (kBits > kLow) {
                using High = Place<kBits - kLow, kStep>;
                const uint8x16_t high = vld1q_u8(from + 64 * (kLow + High::kVector));
                bytes = vorrq_u8(bytes, neon_field<High::kFirst, kLow, kBits - kLow>(high));
            }
        }
        return vreinterpretq_s8_u8(vsubq_u8(bytes, vdupq_n_u8(kOffset)));
    }
    [[nodiscard]] float32x4_t scale(std::size_t block, std::size_t quarter) const {
        return halves_at(this->scales + this->kLine * block + 8 * quarter);
    }
    [[nodiscard]] float32x4_t minimum(std::size_t block, std::size_t quarter) const {
        return halves_at(this->minima + this->kLine * block + 8 * quarter);
    }
    [[nodiscard]] int32x4_t part_scale(std::size_t part, std::size_t quarter) const {
        return four_signed(this->parts + part * kQuantPanel + 4 * quarter);
    }
    [[nodiscard]] int32x4_t part_minimum(std::size_t part, std::size_t quarter) const {
        return four_unsigned(this->part_minima + part * kQuantPanel + 4 * quarter);
    }
};

struct FromUnpacked {
    FromUnpacked(const std::uint8_t* unpacked, std::size_t /*n_blocks*/)
        : from(*reinterpret_cast<const UnpackedNeon*>(unpacked)) {}

    template <unsigned kStep>
    [[nodiscard]] int8x16_t values(std::size_t block, std::size_t quarter) const {
        return vld1q_s8(from.values[8 * block + kStep] + 16 * quarter);
    }
    [[nodiscard]] float32x4_t scale(std::size_t block, std::size_t quarter) const {
        return vld1q_f32(from.scales[block] + 4 * quarter);
    }
    [[nodiscard]] float32x4_t minimum(std::size_t block, std::size_t quarter) const {
        return vld1q_f32(from.minima[block] + 4 * quarter);
    }
    [[nodiscard]] int32x4_t part_scale(std::size_t part, std::size_t quarter) const {
        return vld1q_s32(from.part_scales[part] + 4 * quarter);
    }
    [[nodiscard]] int32x4_t part_minimum(std::size_t part, std::size_t quarter) const {
        return vld1q_s32(from.part_minima[part] + 4 * quarter);
    }

    const UnpackedNeon& from;
};

// Everything of a chunk but its values.
template <unsigned kBits, unsigned kParts, bool kMinima>
void unpack_scales(const FromPacked<kBits, kParts, kMinima>& from, std::size_t n_blocks, UnpackedNeon& to) {
    for (std::size_t quarter = 0; quarter < kQuarters; ++quarter) {
        const std::size_t lane = 4 * quarter;
        for (std::size_t i = 0; i < (kParts > 0 ? 1 : n_blocks); ++i) {
            vst1q_f32(to.scales[i] + lane, from.scale(i, quarter));
            if (kMinima) vst1q_f32(to.minima[i] + lane, from.minimum(i, quarter));
        }
        for (std::size_t part = 0; part < kParts; ++part) {
            vst1q_s32(to.part_scales[part] + lane, from.part_scale(part, quarter));
            if (kMinima) vst1q_s32(to.part_minima[part] + lane, from.part_minimum(part, quarter));
        }
    }
}

template <unsigned kStep = 0, typename Source>
inline void unpack_steps(const Source& from, std::size_t block, std::int8_t (*values)[64]) {
    if constexpr (kStep < 8) {
        for (std::size_t quarter = 0; quarter < kQuarters; ++quarter) {
            vst1q_s8(values[kStep] + 16 * quarter, from.template values<kStep>(block, quarter));
        }
        unpack_steps<kStep + 1>(from, block, values);
    }
}

// What the sums of a block, or of a chunk's parts, add to those of a row: four outputs.
template <bool kMinima, typename Source>
inline void add_block(const Source& source, std::size_t block, std::size_t quarter, int32x4_t dots,
                      const BlockFacts& known, float* sums) {
    float* place = sums + 4 * quarter;
    const float32x4_t both_scales = vmulq_n_f32(source.scale(block, quarter), known.scale[block]);
    float32x4_t sum = vfmaq_f32(vld1q_f32(place), vcvtq_f32_s32(dots), both_scales);
    if constexpr (kMinima) {
        sum = vfmaq_f32(sum, vdupq_n_f32(known.sum[block]), source.minimum(block, quarter));
    }
    vst1q_f32(place, sum);
}

template <unsigned kParts, bool kMinima, typename Source>
inline void add_chunk(const Source& source, std::size_t quarter, int32x4_t all, const ChunkFacts& known,
                      float* sums) {
    float* place = sums + 4 * quarter;
    const float32x4_t both_scales = vmulq_n_f32(source.scale(0, quarter), known.scale);
    float32x4_t sum = vfmaq_f32(vld1q_f32(place), vcvtq_f32_s32(all), both_scales);
    if constexpr (kMinima) {
        int32x4_t taken = vdupq_n_s32(0);
        for (std::size_t part = 0; part < kParts; ++part) {
            taken = vmlaq_n_s32(taken, source.part_minimum(part, quarter),
                                kParts == 8 ? known.sums32[part] : known.sums16[part]);
        }
        const float32x4_t minimum = vmulq_n_f32(source.minimum(0, quarter), known.scale);
        sum = vfmsq_f32(sum, vcvtq_f32_s32(taken), minimum);
    }
    vst1q_f32(place, sum);
}

// Steps kStep ... kEnd - 1 of a block times the rows of a tile.
template <unsigned kStep, unsigned kEnd, std::size_t kRows, typename Source>
inline void add_steps(const Source& source, std::size_t block, const std::int8_t* values,
                      int32x4_t (&dots)[kRows][kQuarters]) {
    if constexpr (kStep < kEnd) {
        int8x16_t w[kQuarters];
        for (std::size_t quarter = 0; quarter < kQuarters; ++quarter) {
            w[quarter] = source.template values<kStep>(block, quarter);
        }
        for (std::size_t row = 0; row < kRows; ++row) {
            std::int32_t word = 0;
            std::memcpy(&word, values + row * kQuantChunk + block * kQuantBlock + kStep * 4, sizeof(word));
            const int8x16_t x = vreinterpretq_s8_s32(vdupq_n_s32(word));
            for (std::size_t quarter = 0; quarter < kQuarters; ++quarter) {
                dots[row][quarter] = vdotq_s32(dots[row][quarter], w[quarter], x);
            }
        }
        add_steps<kStep + 1, kEnd>(source, block, values, dots);
    }
}

// The parts of one block, of kSteps steps each.
template <unsigned kSteps, std::size_t kRows, unsigned kStep = 0, typename Source>
inline void add_parts(const Source& source, std::size_t block, const std::int8_t* values,
                      int32x4_t (&all)[kRows][kQuarters]) {
    if constexpr (kStep < 8) {
        int32x4_t dots[kRows][kQuarters] = {};
        add_steps<kStep, kStep + kSteps>(source, block, values, dots);
        for (std::size_t quarter = 0; quarter < kQuarters; ++quarter) {
            const int32x4_t scale = source.part_scale((8 * block + kStep) / kSteps, quarter);
            for (std::size_t row = 0; row < kRows; ++row) {
                all[row][quarter] = vmlaq_s32(all[row][quarter], dots[row][quarter], scale);
            }
        }
        add_parts<kSteps, kRows, kStep + kSteps>(source, block, values, all);
    }
}

struct SetNeon {
    static constexpr std::size_t kTile = 4;  // rows at a time: four sums each, of four outputs
    template <unsigned kBits>
    static constexpr std::size_t kFewRows = 4;
    template <unsigned kBits, unsigned kParts, bool kMinima>
    using Packed = FromPacked<kBits, kParts, kMinima>;
    using UnpackedInBlocks = FromUnpacked;
    using UnpackedInParts = FromUnpacked;

    template <unsigned kBits, unsigned kParts, bool kMinima>
    static void unpack(const std::uint8_t* chunk, std::size_t n_blocks, std::uint8_t* unpacked) {
        auto& to = *reinterpret_cast<UnpackedNeon*>(unpacked);
        const FromPacked<kBits, kParts, kMinima> from(chunk, n_blocks);
        unpack_scales<kBits, kParts, kMinima>(from, n_blocks, to);
        for (std::size_t i = 0; i < n_blocks; ++i) unpack_steps(from, i, to.values + 8 * i);
    }

    template <unsigned kBits, bool kMinima, std::size_t kRows, typename Source>
    static void blocks(const Source& source, std::size_t n_blocks, const std::int8_t* values,
                       const BlockFacts* known, float* sums) {
        for (std::size_t block = 0; block < n_blocks; ++block) {
            int32x4_t dots[kRows][kQuarters] = {};
            add_steps<0, 8>(source, block, values, dots);
            for (std::size_t row = 0; row < kRows; ++row) {
                for (std::size_t quarter = 0; quarter < kQuarters; ++quarter) {
                    add_block<kMinima>(source, block, quarter, dots[row][quarter], known[row],
                                       sums + row * kQuantPanel);
                }
            }
        }
    }

    template <unsigned kBits, unsigned kParts, bool kMinima, std::size_t kRows, typename Source>
    static void parts(const Source& source, const std::int8_t* values, const ChunkFacts* known, float* sums) {
        int32x4_t all[kRows][kQuarters] = {};
        for (std::size_t block = 0; block < kQuantChunkBlocks; ++block) {
            add_parts<kQuantChunk / 4 / kParts, kRows>(source, block, values, all);
        }
        for (std::size_t row = 0; row < kRows; ++row) {
            for (std::size_t quarter = 0; quarter < kQuarters; ++quarter) {
                add_chunk<kParts, kMinima>(source, quarter, all[row][quarter], known[row],
                                           sums + row * kQuantPanel);
            }
        }
    }
};

}  // namespace

}  // namespace clasp::model::quant
