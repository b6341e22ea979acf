// Compiled for ARMv8.6 with products of small matrices (i8mm); runs only where the processor has them. One
// instruction multiplies 2 outputs x 8 inputs by 2 rows. Few rows take the dot product.
#include "model/quant_neon.h"

namespace clasp::model::quant {

namespace {

constexpr std::size_t kOutputPairs = kQuantPanel / 2;

// Two steps of a quarter to two pairs of outputs, eight inputs of each one after the other.
template <unsigned kStep = 0, typename Source>
inline void unpack_pairs(const Source& from, std::size_t block, std::int8_t (*values)[64]) {
    if constexpr (kStep < 8) {
        std::int8_t* to = values[kStep];
        for (std::size_t quarter = 0; quarter < kQuarters; ++quarter, to += 32) {
            const int32x4_t first = vreinterpretq_s32_s8(from.template values<kStep>(block, quarter));
            const int32x4_t second = vreinterpretq_s32_s8(from.template values<kStep + 1>(block, quarter));
            vst1q_s8(to, vreinterpretq_s8_s32(vzip1q_s32(first, second)));
            vst1q_s8(to + 16, vreinterpretq_s8_s32(vzip2q_s32(first, second)));
        }
        unpack_pairs<kStep + 2>(from, block, values);
    }
}

// Steps begin ... end - 1 of a chunk, two at a time, for kPairs pairs of rows. A sum holds both rows of the
// first output, then both of the second.
template <std::size_t kPairs>
inline void add_pairs(const UnpackedNeon& from, std::size_t begin, std::size_t end,
                      const std::int8_t* const (&rows)[2 * kPairs], int32x4_t (&dots)[kPairs][kOutputPairs]) {
    for (std::size_t step = begin; step < end; step += 2) {
        int8x16_t x[kPairs];
        for (std::size_t pair = 0; pair < kPairs; ++pair) {
            x[pair] = vcombine_s8(vld1_s8(rows[2 * pair] + 4 * step), vld1_s8(rows[2 * pair + 1] + 4 * step));
        }
        for (std::size_t i = 0; i < kOutputPairs; ++i) {
            const int8x16_t w = vld1q_s8(from.values[step] + 16 * i);
            for (std::size_t pair = 0; pair < kPairs; ++pair) {
                dots[pair][i] = vmmlaq_s32(dots[pair][i], w, x[pair]);
            }
        }
    }
}

// Four outputs of one row of a pair.
inline int32x4_t of_row(const int32x4_t (&dots)[kOutputPairs], std::size_t quarter, std::size_t row) {
    return row == 0 ? vuzp1q_s32(dots[2 * quarter], dots[2 * quarter + 1])
                    : vuzp2q_s32(dots[2 * quarter], dots[2 * quarter + 1]);
}

template <unsigned kBits, unsigned kParts, bool kMinima>
struct MakeI8mm : TiledKernel<SetNeon, kBits, kParts, kMinima> {
    static void unpack(const std::uint8_t* chunk, std::size_t n_blocks, std::uint8_t* unpacked) {
        auto& to = *reinterpret_cast<UnpackedNeon*>(unpacked);
        const FromPacked<kBits, kParts, kMinima> from(chunk, n_blocks);
        unpack_scales<kBits, kParts, kMinima>(from, n_blocks, to);
        for (std::size_t i = 0; i < n_blocks; ++i) unpack_pairs(from, i, to.values + 8 * i);
    }

    // n_rows of up to 2 kPairs rows; what a pair lacks is computed twice and left.
    template <std::size_t kPairs>
    static void tile(const std::uint8_t* unpacked, std::size_t n_blocks, const std::int8_t* values,
                     const std::uint8_t* facts, std::size_t n_rows, float* sums) {
        const FromUnpacked source(unpacked, n_blocks);
        const std::int8_t* rows[2 * kPairs];
        for (std::size_t row = 0; row < 2 * kPairs; ++row) {
            rows[row] = values + (row < n_rows ? row : n_rows - 1) * kQuantChunk;
        }
        if constexpr (kParts > 0) {
            constexpr std::size_t kSteps = kQuantChunk / 4 / kParts;
            int32x4_t all[2 * kPairs][kQuarters] = {};
            for (std::size_t part = 0; part < kParts; ++part) {
                int32x4_t dots[kPairs][kOutputPairs] = {};
                add_pairs<kPairs>(source.from, part * kSteps, (part + 1) * kSteps, rows, dots);
                for (std::size_t row = 0; row < 2 * kPairs; ++row) {
                    for (std::size_t quarter = 0; quarter < kQuarters; ++quarter) {
                        all[row][quarter] =
                            vmlaq_s32(all[row][quarter], of_row(dots[row / 2], quarter, row % 2),
                                      source.part_scale(part, quarter));
                    }
                }
            }
            const auto* known = reinterpret_cast<const ChunkFacts*>(facts);
            for (std::size_t row = 0; row < n_rows; ++row) {
                for (std::size_t quarter = 0; quarter < kQuarters; ++quarter) {
                    add_chunk<kParts, kMinima>(source, quarter, all[row][quarter], known[row],
                                               sums + row * kQuantPanel);
                }
            }
        } else {
            const auto* known = reinterpret_cast<const BlockFacts*>(facts);
            for (std::size_t block = 0; block < n_blocks; ++block) {
                int32x4_t dots[kPairs][kOutputPairs] = {};
                add_pairs<kPairs>(source.from, 8 * block, 8 * block + 8, rows, dots);
                for (std::size_t row = 0; row < n_rows; ++row) {
                    for (std::size_t quarter = 0; quarter < kQuarters; ++quarter) {
                        add_block<kMinima>(source, block, quarter, of_row(dots[row / 2], quarter, row % 2),
                                           known[row], sums + row * kQuantPanel);
                    }
                }
            }
        }
    }

    static void many(const std::uint8_t* unpacked, std::size_t n_blocks, const std::int8_t* values,
                     const std::uint8_t* facts, std::size_t n_rows, float* sums) {
        constexpr std::size_t kTile = 4;
        for (; n_rows >= kTile; n_rows -= kTile) {
            tile<2>(unpacked, n_blocks, values, facts, kTile, sums);
            values += kTile * kQuantChunk;
            facts += kTile * kFactsBytes;
            sums += kTile * kQuantPanel;
        }
        if (n_rows > 2) return tile<2>(unpacked, n_blocks, values, facts, n_rows, sums);
        if (n_rows > 0) return tile<1>(unpacked, n_blocks, values, facts, n_rows, sums);
    }

    static Kernel kernel() {
        Kernel kernel = TiledKernel<SetNeon, kBits, kParts, kMinima>::kernel();
        kernel.unpack = unpack;
        kernel.multiply = many;
        return kernel;
    }
};

}  // namespace

Kernel i8mm_kernel(const QuantFormat& format) {
    return kernel_of<MakeI8mm>(format);
}

}  // namespace clasp::model::quant
