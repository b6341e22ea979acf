#include "model/quant_format.h"

#include <array>
#include <cstring>

namespace clasp::model {

namespace {

std::uint16_t half_at(const std::uint8_t* stored) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, stored, sizeof(bits));
    return bits;
}

std::uint32_t word_at(const std::uint8_t* bytes) {
    std::uint32_t word = 0;
    std::memcpy(&word, bytes, sizeof(word));
    return word;
}

// The low halves of 16 bytes come first, then the high ones.
void read_nibbles(const std::uint8_t* stored, std::uint8_t* values) {
    for (std::size_t i = 0; i < 16; ++i) {
        values[i] = stored[i] & 15U;
        values[i + 16] = static_cast<std::uint8_t>(stored[i] >> 4U);
    }
}

void add_fifth_bits(std::uint32_t bits, std::uint8_t* values) {
    for (std::size_t i = 0; i < 32; ++i) {
        values[i] = static_cast<std::uint8_t>(values[i] | (bits >> i & 1U) << 4U);
    }
}

void read_q4_0(const std::uint8_t* stored, QuantBlock& block) {
    block.scale = half_at(stored);
    read_nibbles(stored + 2, block.values);
}

void read_q4_1(const std::uint8_t* stored, QuantBlock& block) {
    block.scale = half_at(stored);
    block.minimum = half_at(stored + 2);
    read_nibbles(stored + 4, block.values);
}

void read_q5_0(const std::uint8_t* stored, QuantBlock& block) {
    block.scale = half_at(stored);
    read_nibbles(stored + 6, block.values);
    add_fifth_bits(word_at(stored + 2), block.values);
}

void read_q5_1(const std::uint8_t* stored, QuantBlock& block) {
    block.scale = half_at(stored);
    block.minimum = half_at(stored + 2);
    read_nibbles(stored + 8, block.values);
    add_fifth_bits(word_at(stored + 4), block.values);
}

void read_q8_0(const std::uint8_t* stored, QuantBlock& block) {
    block.scale = half_at(stored);
    for (std::size_t i = 0; i < kQuantBlock; ++i) {
        block.values[i] = static_cast<std::uint8_t>(stored[2 + i] ^ 0x80U);
    }
}

// Eight scales and eight minima of six bits in twelve bytes: the first four of each have bytes of their own,
// whose upper two bits are the upper bits of the last four.
void read_parts_of_six(const std::uint8_t* stored, QuantBlock& block) {
    for (std::size_t i = 0; i < 4; ++i) {
        const unsigned scale = stored[i];
        const unsigned minimum = stored[4 + i];
        const unsigned both = stored[8 + i];
        block.scales[i] = static_cast<std::int8_t>(scale & 63U);
        block.minima[i] = static_cast<std::uint8_t>(minimum & 63U);
        block.scales[4 + i] = static_cast<std::int8_t>((both & 15U) | (scale >> 6U) << 4U);
        block.minima[4 + i] = static_cast<std::uint8_t>((both >> 4U) | (minimum >> 6U) << 4U);
    }
}

// 64 values in 32 bytes: the low halves first.
void read_long_nibbles(const std::uint8_t* stored, std::uint8_t* values) {
    for (std::size_t i = 0; i < 32; ++i) {
        values[i] = stored[i] & 15U;
        values[i + 32] = static_cast<std::uint8_t>(stored[i] >> 4U);
    }
}

void read_q4_k(const std::uint8_t* stored, QuantBlock& block) {
    block.scale = half_at(stored);
    block.minimum = half_at(stored + 2);
    read_parts_of_six(stored + 4, block);
    for (std::size_t i = 0; i < 4; ++i) read_long_nibbles(stored + 16 + 32 * i, block.values + 64 * i);
}

// Bit p of byte i of the bits is the fifth of value 32 p + i.
void read_q5_k(const std::uint8_t* stored, QuantBlock& block) {
    block.scale = half_at(stored);
    block.minimum = half_at(stored + 2);
    read_parts_of_six(stored + 4, block);
    for (std::size_t i = 0; i < 4; ++i) read_long_nibbles(stored + 48 + 32 * i, block.values + 64 * i);
    const std::uint8_t* bits = stored + 16;
    for (std::size_t part = 0; part < 8; ++part) {
        std::uint8_t* values = block.values + 32 * part;
        for (std::size_t i = 0; i < 32; ++i) {
            values[i] = static_cast<std::uint8_t>(values[i] | (bits[i] >> part & 1U) << 4U);
        }
    }
}

// Halves of 128 values: 64 bytes of low nibbles, the first 64 values in their lower halves; 32 bytes of upper
// pairs of bits, four values 32 apart in each.
void read_q6_k(const std::uint8_t* stored, QuantBlock& block) {
    for (std::size_t half = 0; half < 2; ++half) {
        const std::uint8_t* low = stored + 64 * half;
        const std::uint8_t* high = stored + 128 + 32 * half;
        std::uint8_t* values = block.values + 128 * half;
        for (std::size_t i = 0; i < 32; ++i) {
            values[i] = static_cast<std::uint8_t>((low[i] & 15U) | (high[i] & 3U) << 4U);
            values[i + 32] = static_cast<std::uint8_t>((low[i + 32] & 15U) | (high[i] >> 2U & 3U) << 4U);
            values[i + 64] = static_cast<std::uint8_t>((low[i] >> 4U) | (high[i] >> 4U & 3U) << 4U);
            values[i + 96] = static_cast<std::uint8_t>((low[i + 32] >> 4U) | (high[i] >> 6U) << 4U);
        }
    }
    std::memcpy(block.scales, stored + 192, sizeof(block.scales));
    block.scale = half_at(stored + 208);
}

// Halves of 128 values in 32 bytes, four values 32 apart in each.
void read_pairs(const std::uint8_t* stored, std::uint8_t* values) {
    for (std::size_t half = 0; half < 2; ++half) {
        for (std::size_t quarter = 0; quarter < 4; ++quarter) {
            for (std::size_t i = 0; i < 32; ++i) {
                values[128 * half + 32 * quarter + i] =
                    static_cast<std::uint8_t>(stored[32 * half + i] >> 2U * quarter & 3U);
            }
        }
    }
}

void read_q2_k(const std::uint8_t* stored, QuantBlock& block) {
    for (std::size_t i = 0; i < 16; ++i) {
        block.scales[i] = static_cast<std::int8_t>(stored[i] & 15U);
        block.minima[i] = static_cast<std::uint8_t>(stored[i] >> 4U);
    }
    read_pairs(stored + 16, block.values);
    block.scale = half_at(stored + 80);
    block.minimum = half_at(stored + 82);
}

// Sixteen scales of six bits with an offset of 32 in twelve bytes: low nibbles of 8, then of 8 more in the
// same bytes, then the upper pairs of bits, four scales 4 apart in each byte.
void read_q3_k(const std::uint8_t* stored, QuantBlock& block) {
    read_pairs(stored + 32, block.values);
    for (std::size_t part = 0; part < 8; ++part) {
        std::uint8_t* values = block.values + 32 * part;
        for (std::size_t i = 0; i < 32; ++i) {
            values[i] = static_cast<std::uint8_t>(values[i] | (stored[i] >> part & 1U) << 2U);
        }
    }
    const std::uint8_t* scales = stored + 96;
    for (std::size_t i = 0; i < 16; ++i) {
        const unsigned low = i < 8 ? scales[i] & 15U : static_cast<unsigned>(scales[i - 8] >> 4U);
        const unsigned high = scales[8 + i % 4] >> 2U * (i / 4) & 3U;
        block.scales[i] = static_cast<std::int8_t>(static_cast<int>(low | high << 4U) - 32);
    }
    block.scale = half_at(stored + 108);
}

using Kind = QuantRowKind;
constexpr std::array kFormats = {
    QuantFormat{GGML_TYPE_Q4_0, 4, 0, false, Kind::Offset8, read_q4_0},
    QuantFormat{GGML_TYPE_Q4_1, 4, 0, true, Kind::Sum, read_q4_1},
    QuantFormat{GGML_TYPE_Q5_0, 5, 0, false, Kind::Offset16, read_q5_0},
    QuantFormat{GGML_TYPE_Q5_1, 5, 0, true, Kind::Sum, read_q5_1},
    QuantFormat{GGML_TYPE_Q8_0, 8, 0, false, Kind::Offset128, read_q8_0},
    QuantFormat{GGML_TYPE_Q2_K, 2, 16, true, Kind::Chunk, read_q2_k},
    QuantFormat{GGML_TYPE_Q3_K, 3, 16, false, Kind::Chunk, read_q3_k},
    QuantFormat{GGML_TYPE_Q4_K, 4, 8, true, Kind::Chunk, read_q4_k},
    QuantFormat{GGML_TYPE_Q5_K, 5, 8, true, Kind::Chunk, read_q5_k},
    QuantFormat{GGML_TYPE_Q6_K, 6, 16, false, Kind::Chunk, read_q6_k},
};

// Bits `n_bits` from bit `first` on of the 32 values of a block, to one lane of the vectors of a plane.
// Values go in steps of four bytes; a 32-bit word is one step of one output.
void pack_plane(const std::uint8_t* values, unsigned first, unsigned n_bits, std::size_t lane,
                std::uint8_t* plane) {
    const std::size_t n_vectors = n_bits;
    const std::uint32_t mask = 0x01010101U * ((1U << n_bits) - 1U);
    for (std::size_t vector = 0; vector < n_vectors; ++vector) {
        std::uint32_t word = 0;
        for (std::size_t i = 0; i < 8 / n_bits; ++i) {
            // Nibbles of a vector are half a block apart, so that both halves are consecutive steps.
            const std::size_t step = n_bits == 4 ? vector + 4 * i : vector * (8 / n_bits) + i;
            word |= (word_at(values + 4 * step) >> first & mask) << n_bits * i;
        }
        std::memcpy(plane + vector * 64 + lane * 4, &word, sizeof(word));
    }
}

void pack_block(const std::uint8_t* values, unsigned n_bits, std::size_t lane, std::uint8_t* planes) {
    const unsigned low = n_bits == 8 ? 8U : (n_bits >= 4 ? 4U : 2U);
    pack_plane(values, 0, low, lane, planes);
    if (n_bits > low) pack_plane(values, low, n_bits - low, lane, planes + low * 64);
}

void put_half(std::uint16_t bits, std::size_t index, std::uint8_t* place) {
    std::memcpy(place + 2 * index, &bits, sizeof(bits));
}

}  // namespace

std::size_t QuantFormat::chunk_bytes(std::size_t n_blocks) const {
    const std::size_t n_scales = kQuantPanel * (n_parts > 0 ? 1 : n_blocks) * (has_minima ? 2 : 1);
    const std::size_t n_part_bytes = kQuantPanel * n_parts * (has_minima ? 2U : 1U);
    return n_scales * sizeof(std::uint16_t) + n_part_bytes + n_blocks * n_bits * 64U;
}

const QuantFormat* find_quant_format(ggml_type type) {
    for (const QuantFormat& format : kFormats) {
        if (format.type == type) return &format;
    }
    return nullptr;
}

void pack_quant_lane(const QuantFormat& format, const std::uint8_t* stored, std::size_t n_blocks,
                     std::size_t lane, std::uint8_t* chunk) {
    const std::size_t stored_bytes = ggml_type_size(format.type);
    const std::size_t n_stored = format.n_parts > 0 ? 1 : n_blocks;
    const std::size_t n_in_stored = format.block_inputs() / kQuantBlock;
    std::uint8_t* minima = chunk + n_stored * kQuantPanel * sizeof(std::uint16_t);
    std::uint8_t* parts =
        format.has_minima ? minima + n_stored * kQuantPanel * sizeof(std::uint16_t) : minima;
    std::uint8_t* part_minima = parts + kQuantPanel * format.n_parts;
    std::uint8_t* planes = chunk + format.chunk_bytes(n_blocks) - n_blocks * format.n_bits * 64U;
    QuantBlock block;
    for (std::size_t i = 0; i < n_stored; ++i) {
        format.read(stored + i * stored_bytes, block);
        put_half(block.scale, i * kQuantPanel + lane, chunk);
        if (format.has_minima) put_half(block.minimum, i * kQuantPanel + lane, minima);
        for (std::size_t part = 0; part < format.n_parts; ++part) {
            parts[part * kQuantPanel + lane] = static_cast<std::uint8_t>(block.scales[part]);
            if (format.has_minima) part_minima[part * kQuantPanel + lane] = block.minima[part];
        }
        for (std::size_t k = 0; k < n_in_stored; ++k) {
            pack_block(block.values + k * kQuantBlock, format.n_bits, lane,
                       planes + (i * n_in_stored + k) * format.n_bits * 64U);
        }
    }
}

}  // namespace clasp::model
