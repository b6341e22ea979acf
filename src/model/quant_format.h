// The quantised types of GGUF files whose products run here, and how their weights are laid out.
//
// A matrix is cut into panels of 16 outputs and chunks of 256 inputs, a chunk into 8 blocks of 32 inputs, a
// block into 8 steps of 4. A vector of 64 bytes holds one step of a panel: 16 outputs x 4 inputs. Numbers
// narrower than a byte lie in planes, several steps in one vector:
//   4 bits  4 vectors a block; step s is in vector s % 4, from bit 4 (s / 4) on
//   2 bits  2 vectors; step s is in vector s / 4, from bit 2 (s % 4) on
//   1 bit   1 vector; step s is bit s
//   8 bits  8 vectors, one a step
// 3, 5 and 6 bits are two planes: 2 + 1, 4 + 1 and 4 + 2, the low bits first.
//
// A chunk of a panel is stored as
//   scales  half precision, [block][16], or [16] where the file has scales of 256 inputs
//   minima  likewise, where the type has them
//   parts   [part][16] bytes: scales of 16 or 32 inputs as multiples of the chunk's; then minima likewise
//   blocks  [block][plane]
// Only the last chunk of a row may have fewer than 8 blocks, and only in types without parts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ggml.h"

namespace clasp::model {

inline constexpr std::size_t kQuantPanel = 16;   // outputs
inline constexpr std::size_t kQuantChunk = 256;  // inputs
inline constexpr std::size_t kQuantBlock = 32;   // inputs
inline constexpr std::size_t kQuantChunkBlocks = kQuantChunk / kQuantBlock;

// How a row of inputs is rounded to bytes for a type of weights; see quant_rows.h.
enum class QuantRowKind : std::uint8_t {
    Offset8,    // blocks of 32, with -8 times the sum of the bytes
    Offset16,   // with -16 times
    Offset128,  // with -128 times
    Sum,        // with the sum of the values
    Chunk,      // one scale for 256, with the sums of the bytes of every 16 and 32
};

// One block of a row as the file has it, taken apart. A weight is scale * (value - offset), or
// scale * value + minimum, with the scale and minimum of its part where there are parts.
struct QuantBlock {
    std::uint8_t values[kQuantChunk];  // 32 or 256 of them
    std::uint16_t scale;               // half precision
    std::uint16_t minimum;             // half precision; taken off in types with parts, added in the others
    std::int8_t scales[16];
    std::uint8_t minima[16];
};

struct QuantFormat {
    ggml_type type;
    std::uint8_t n_bits;   // of a value: 2, 3, 4, 5, 6 or 8
    std::uint8_t n_parts;  // of a chunk that have scales of their own: 8 or 16; 0: blocks have
    bool has_minima;       // else values have an offset of half their range
    QuantRowKind rows;
    void (*read)(const std::uint8_t* stored, QuantBlock& block);

    // Inputs that a stored block has.
    [[nodiscard]] std::size_t block_inputs() const { return n_parts > 0 ? kQuantChunk : kQuantBlock; }
    [[nodiscard]] unsigned offset() const { return has_minima ? 0U : 1U << (n_bits - 1U); }
    // Of a chunk with n_blocks blocks.
    [[nodiscard]] std::size_t chunk_bytes(std::size_t n_blocks) const;
};

// Null for types that stay with ggml.
const QuantFormat* find_quant_format(ggml_type type);

// Writes output `lane` of the panel into a chunk of n_blocks blocks. stored: the blocks of its row that lie
// in this chunk, as in the file. Every byte of the chunk that belongs to the lane is written.
void pack_quant_lane(const QuantFormat& format, const std::uint8_t* stored, std::size_t n_blocks,
                     std::size_t lane, std::uint8_t* chunk);

}  // namespace clasp::model
