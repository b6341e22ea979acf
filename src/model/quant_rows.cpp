#include "model/quant_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "model/quant_kernel.h"

namespace clasp::model {

namespace quant {

namespace {

// What values were multiplied with, and the scale that undoes it: ggml divides the largest by 127 for blocks
// of 32, and inverts the inverse for chunks.
struct Rounding {
    float inverse = 0.0F;
    float scale = 0.0F;
};

// Rounds n values with one scale.
Rounding round_values(const float* x, std::size_t n, std::int8_t* values) {
    float top = 0.0F;
    for (std::size_t i = 0; i < n; ++i) {
        if (!std::isfinite(x[i])) {
            std::fill_n(values, n, std::int8_t{0});
            return {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::quiet_NaN()};
        }
        top = std::max(top, std::abs(x[i]));
    }
    const float inverse = top > 0.0F ? static_cast<float>(kMaxByte) / top : 0.0F;
    // The inverse of a number close to zero is not finite.
    if (inverse == 0.0F || !std::isfinite(inverse)) {
        std::fill_n(values, n, std::int8_t{0});
        return {};
    }
    for (std::size_t i = 0; i < n; ++i) {
        values[i] = static_cast<std::int8_t>(std::nearbyint(x[i] * inverse));
    }
    return {inverse, top / static_cast<float>(kMaxByte)};
}

// A number as ggml's blocks keep it. One that is too large for that stays: ggml's would be infinite.
float as_half(float value) {
    return std::abs(value) > kMaxHalf ? value : ggml_fp16_to_fp32(ggml_fp32_to_fp16(value));
}

int sum_of(const std::int8_t* values, std::size_t n) {
    int sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += values[i];
    return sum;
}

}  // namespace

void round_chunk_scalar(const float* x, std::size_t n_blocks, QuantRowKind kind, std::int8_t* values,
                        std::uint8_t* facts) {
    if (kind == QuantRowKind::Chunk) {
        ChunkFacts known = {};
        const Rounding rounding = round_values(x, kQuantChunk, values);
        known.scale = rounding.inverse == 0.0F ? 0.0F : 1.0F / rounding.inverse;
        for (std::size_t i = 0; i < 16; ++i) {
            known.sums16[i] = static_cast<std::int16_t>(sum_of(values + 16 * i, 16));
        }
        for (std::size_t i = 0; i < 8; ++i) {
            known.sums32[i] = static_cast<std::int16_t>(known.sums16[2 * i] + known.sums16[2 * i + 1]);
        }
        std::memcpy(facts, &known, sizeof(known));
        return;
    }
    BlockFacts known = {};
    for (std::size_t i = 0; i < n_blocks; ++i) {
        std::int8_t* to = values + i * kQuantBlock;
        const float scale = round_values(x + i * kQuantBlock, kQuantBlock, to).scale;
        const int sum = sum_of(to, kQuantBlock);
        known.scale[i] = as_half(scale);
        switch (kind) {
            case QuantRowKind::Offset8: known.offset[i] = -8 * sum; break;
            case QuantRowKind::Offset16: known.offset[i] = -16 * sum; break;
            case QuantRowKind::Offset128: known.offset[i] = -128 * sum; break;
            default: known.sum[i] = as_half(static_cast<float>(sum) * scale); break;
        }
    }
    std::memcpy(facts, &known, sizeof(known));
}

}  // namespace quant

std::size_t QuantRows::bytes() const {
    return n_chunks() * n_rows * (kQuantChunk + quant::kFactsBytes);
}

std::int8_t* QuantRows::values(std::size_t chunk, std::size_t row) const {
    return reinterpret_cast<std::int8_t*>(memory) + (chunk * n_rows + row) * kQuantChunk;
}

std::uint8_t* QuantRows::facts(std::size_t chunk, std::size_t row) const {
    return memory + n_chunks() * n_rows * kQuantChunk + (chunk * n_rows + row) * quant::kFactsBytes;
}

void QuantRows::round(const float* x, std::size_t stride, std::size_t part, std::size_t n_parts,
                      KernelSet kernels) const {
    auto round_chunk = quant::round_chunk_scalar;
#ifdef CLASP_HAVE_X86_KERNELS
    if (is_x86(kernels)) round_chunk = quant::round_chunk_avx2;
#else
    (void)kernels;
#endif
    // One row of a decoder's answer is work for all threads too, so parts are of chunks of rows.
    const std::size_t n_all = n_chunks() * n_rows;
    for (std::size_t i = n_all * part / n_parts; i < n_all * (part + 1) / n_parts; ++i) {
        const std::size_t row = i / n_chunks();
        const std::size_t chunk = i % n_chunks();
        const std::size_t n_blocks = std::min(kQuantChunk, n_inputs - chunk * kQuantChunk) / kQuantBlock;
        round_chunk(x + row * stride + chunk * kQuantChunk, n_blocks, kind, values(chunk, row),
                    facts(chunk, row));
    }
}

}  // namespace clasp::model
