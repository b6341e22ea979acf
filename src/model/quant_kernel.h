// Private to quant_matrix.cpp and quant_rows.cpp: the kernels, those for some processors apart because they
// are compiled with other flags. Plain pointers only, so that no inline function of the library is compiled
// twice.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/kernel_set.h"
#include "model/quant_format.h"

namespace clasp::model::quant {

// What is known of one row's bytes in a chunk. Types without parts:
struct BlockFacts {
    float scale[kQuantChunkBlocks];  // rounded to half precision, as ggml keeps them
    // By QuantRowKind: what an offset of the weights adds to the sum of products, or scale * (sum of the
    // bytes), in half precision too.
    union {
        std::int32_t offset[kQuantChunkBlocks];
        float sum[kQuantChunkBlocks];
    };
};
// Types with parts:
struct ChunkFacts {
    float scale;
    std::int16_t sums32[8];   // of the bytes of every 32 inputs
    std::int16_t sums16[16];  // of every 16
    std::int16_t unused[6];
};
inline constexpr std::size_t kFactsBytes = 64;
static_assert(sizeof(BlockFacts) == kFactsBytes && sizeof(ChunkFacts) == kFactsBytes);

inline constexpr int kMaxByte = 127;

// Room for an unpacked chunk of a panel, in whatever form the kernel likes.
inline constexpr std::size_t kUnpackedBytes = 8704;
// One chunk of one panel times n_rows rows, which lie one after the other: values kQuantChunk bytes a row,
// facts kFactsBytes a row. Adds to sums, kQuantPanel floats a row. unpacked is aligned to 64 bytes.
struct Kernel {
    // Straight from the packed chunk. What is unpacked here, tile by tile, is unpacked again for the next
    // rows.
    void (*multiply_packed)(const std::uint8_t* chunk, std::size_t n_blocks, const std::int8_t* values,
                            const std::uint8_t* facts, std::size_t n_rows, float* sums) = nullptr;
    // Up to so many rows that is faster than the other two, which are null where it always is.
    std::size_t few_rows = 0;
    void (*unpack)(const std::uint8_t* chunk, std::size_t n_blocks, std::uint8_t* unpacked) = nullptr;
    void (*multiply)(const std::uint8_t* unpacked, std::size_t n_blocks, const std::int8_t* values,
                     const std::uint8_t* facts, std::size_t n_rows, float* sums) = nullptr;
};

Kernel scalar_kernel(const QuantFormat& format);
Kernel avx2_kernel(const QuantFormat& format);
// The same kernel in two encodings.
Kernel avxvnni_kernel(const QuantFormat& format);
Kernel avx512vl_kernel(const QuantFormat& format);
Kernel avx512_kernel(const QuantFormat& format);
Kernel dotprod_kernel(const QuantFormat& format);
Kernel i8mm_kernel(const QuantFormat& format);

// The largest number of half precision.
inline constexpr float kMaxHalf = 65504.0F;

// Rounds one row's part of a chunk, n_blocks blocks, to bytes. A value that is not finite makes a scale NaN
// and its bytes 0, so that what is made from it is not finite either.
void round_chunk_scalar(const float* x, std::size_t n_blocks, QuantRowKind kind, std::int8_t* values,
                        std::uint8_t* facts);
void round_chunk_avx2(const float* x, std::size_t n_blocks, QuantRowKind kind, std::int8_t* values,
                      std::uint8_t* facts);

// The kernel of a format by its three properties, which are constants inside the kernel: Make<bits, parts,
// minima>::kernel(). One list for all sets of kernels.
template <template <unsigned, unsigned, bool> class Make>
Kernel kernel_of(const QuantFormat& format) {
    const unsigned key = format.n_bits * 100U + format.n_parts * 2U + (format.has_minima ? 1U : 0U);
    switch (key) {
        case 400: return Make<4, 0, false>::kernel();
        case 401: return Make<4, 0, true>::kernel();
        case 500: return Make<5, 0, false>::kernel();
        case 501: return Make<5, 0, true>::kernel();
        case 800: return Make<8, 0, false>::kernel();
        case 233: return Make<2, 16, true>::kernel();
        case 332: return Make<3, 16, false>::kernel();
        case 417: return Make<4, 8, true>::kernel();
        case 517: return Make<5, 8, true>::kernel();
        case 632: return Make<6, 16, false>::kernel();
        default: return {};
    }
}

}  // namespace clasp::model::quant
