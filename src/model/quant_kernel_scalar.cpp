// The kernels as plain loops: the specification of all others.
#include <cmath>
#include <cstring>

#include "model/quant_kernel.h"

namespace clasp::model::quant {

namespace {

struct Plain {
    std::uint8_t values[kQuantPanel][kQuantChunk];
    float scales[kQuantChunkBlocks][kQuantPanel];  // of blocks; of the chunk first where there are parts
    float minima[kQuantChunkBlocks][kQuantPanel];
    std::int8_t part_scales[16][kQuantPanel];
    std::uint8_t part_minima[16][kQuantPanel];
};
static_assert(sizeof(Plain) <= kUnpackedBytes);

unsigned from_plane(const std::uint8_t* plane, unsigned n_bits, std::size_t step, std::size_t byte) {
    const unsigned per_vector = 8 / n_bits;
    const std::size_t vector = n_bits == 4 ? step % 4 : step / per_vector;
    const std::size_t place = n_bits == 4 ? step / 4 : step % per_vector;
    return plane[vector * 64 + byte] >> n_bits * place & ((1U << n_bits) - 1U);
}

std::uint8_t value_of(const std::uint8_t* planes, unsigned n_bits, std::size_t step, std::size_t byte) {
    const unsigned low = n_bits == 8 ? 8U : (n_bits >= 4 ? 4U : 2U);
    unsigned value = from_plane(planes, low, step, byte);
    if (n_bits > low) value |= from_plane(planes + low * 64, n_bits - low, step, byte) << low;
    return static_cast<std::uint8_t>(value);
}

const std::uint8_t* take_halves(const std::uint8_t* from, std::size_t n, float (*to)[kQuantPanel]) {
    for (std::size_t i = 0; i < n * kQuantPanel; ++i, from += sizeof(ggml_fp16_t)) {
        ggml_fp16_t half = 0;
        std::memcpy(&half, from, sizeof(half));
        to[i / kQuantPanel][i % kQuantPanel] = ggml_fp16_to_fp32(half);
    }
    return from;
}

template <unsigned kBits, unsigned kParts, bool kMinima>
struct Make {
    static constexpr int kOffset = kMinima ? 0 : 1 << (kBits - 1);

    static void unpack(const std::uint8_t* chunk, std::size_t n_blocks, std::uint8_t* unpacked) {
        auto& plain = *reinterpret_cast<Plain*>(unpacked);
        const std::size_t n_scales = kParts > 0 ? 1 : n_blocks;
        chunk = take_halves(chunk, n_scales, plain.scales);
        if (kMinima) chunk = take_halves(chunk, n_scales, plain.minima);
        std::memcpy(plain.part_scales, chunk, kParts * kQuantPanel);
        chunk += kParts * kQuantPanel;
        if (kMinima) {
            std::memcpy(plain.part_minima, chunk, kParts * kQuantPanel);
            chunk += kParts * kQuantPanel;
        }
        for (std::size_t i = 0; i < n_blocks * kQuantBlock; ++i) {
            const std::uint8_t* planes = chunk + i / kQuantBlock * kBits * 64;
            for (std::size_t lane = 0; lane < kQuantPanel; ++lane) {
                plain.values[lane][i] = value_of(planes, kBits, i % kQuantBlock / 4, lane * 4 + i % 4);
            }
        }
    }

    // The exact sum of (value - offset) * byte over n inputs.
    static std::int32_t dot(const std::uint8_t* weights, const std::int8_t* values, std::size_t n,
                            int offset) {
        std::int32_t sum = 0;
        for (std::size_t i = 0; i < n; ++i) sum += (weights[i] - offset) * values[i];
        return sum;
    }

    static void add_blocks(const Plain& plain, std::size_t lane, std::size_t n_blocks,
                           const std::int8_t* values, const BlockFacts& known, float& sum) {
        for (std::size_t i = 0; i < n_blocks; ++i) {
            const std::uint8_t* weights = plain.values[lane] + i * kQuantBlock;
            const std::int8_t* x = values + i * kQuantBlock;
            const float scale = plain.scales[i][lane];
            const auto dots = static_cast<float>(dot(weights, x, kQuantBlock, kOffset));
            sum = std::fma(dots, scale * known.scale[i], sum);
            if (kMinima) sum = std::fma(known.sum[i], plain.minima[i][lane], sum);
        }
    }

    static void add_parts(const Plain& plain, std::size_t lane, const std::int8_t* values,
                          const ChunkFacts& known, float& sum) {
        constexpr std::size_t kInputs = kQuantChunk / (kParts > 0 ? kParts : 1);
        std::int32_t dots = 0;
        std::int32_t taken = 0;
        for (std::size_t part = 0; part < kParts; ++part) {
            dots += plain.part_scales[part][lane] *
                    dot(plain.values[lane] + part * kInputs, values + part * kInputs, kInputs, kOffset);
            if (!kMinima) continue;
            taken += plain.part_minima[part][lane] * (kParts == 8 ? known.sums32[part] : known.sums16[part]);
        }
        sum = std::fma(static_cast<float>(dots), plain.scales[0][lane] * known.scale, sum);
        if (kMinima) sum = std::fma(-static_cast<float>(taken), plain.minima[0][lane] * known.scale, sum);
    }

    static void multiply(const std::uint8_t* unpacked, std::size_t n_blocks, const std::int8_t* values,
                         const std::uint8_t* facts, std::size_t n_rows, float* sums) {
        const auto& plain = *reinterpret_cast<const Plain*>(unpacked);
        for (std::size_t row = 0; row < n_rows; ++row, values += kQuantChunk, facts += kFactsBytes) {
            for (std::size_t lane = 0; lane < kQuantPanel; ++lane) {
                float& sum = sums[row * kQuantPanel + lane];
                if constexpr (kParts > 0) {
                    ChunkFacts known;
                    std::memcpy(&known, facts, sizeof(known));
                    add_parts(plain, lane, values, known, sum);
                } else {
                    BlockFacts known;
                    std::memcpy(&known, facts, sizeof(known));
                    add_blocks(plain, lane, n_blocks, values, known, sum);
                }
            }
        }
    }

    static void multiply_packed(const std::uint8_t* chunk, std::size_t n_blocks, const std::int8_t* values,
                                const std::uint8_t* facts, std::size_t n_rows, float* sums) {
        alignas(64) std::uint8_t unpacked[kUnpackedBytes];
        unpack(chunk, n_blocks, unpacked);
        multiply(unpacked, n_blocks, values, facts, n_rows, sums);
    }

    static Kernel kernel() { return {multiply_packed, 4, unpack, multiply}; }
};

}  // namespace

Kernel scalar_kernel(const QuantFormat& format) {
    return kernel_of<Make>(format);
}

}  // namespace clasp::model::quant
