// Private to the kernels of quant_matrix.h, each compiled with flags of its own: where things lie in
// a packed chunk, and how tiles of rows become a kernel.
#pragma once

#include "model/quant_kernel.h"

namespace clasp::model::quant {

// A copy per file: the linker must not choose between copies for different processors.
namespace {

inline constexpr std::size_t kAnyRows = SIZE_MAX;

// Where step kStep lies in a plane of kBits bits.
template <unsigned kBits, unsigned kStep>
struct Place {
    static constexpr unsigned kPerVector = 8 / kBits;
    static constexpr unsigned kVector = kBits == 4 ? kStep % 4 : kStep / kPerVector;
    static constexpr unsigned kFirst = kBits * (kBits == 4 ? kStep / 4 : kStep % kPerVector);
};
template <unsigned kBits>
inline constexpr unsigned kLowBits = kBits == 8 ? 8 : (kBits >= 4 ? 4 : 2);

// A chunk as it is stored (quant_format.h).
template <unsigned kBits, unsigned kParts, bool kMinima>
struct PackedChunk {
    static constexpr std::size_t kLine = kQuantPanel * sizeof(std::uint16_t);

    PackedChunk(const std::uint8_t* chunk, std::size_t n_blocks) : scales(chunk) {
        const std::size_t n_scales = kParts > 0 ? 1 : n_blocks;
        minima = scales + n_scales * kLine;
        parts = kMinima ? minima + n_scales * kLine : minima;
        part_minima = parts + kParts * kQuantPanel;
        planes = kMinima ? part_minima + kParts * kQuantPanel : part_minima;
    }

    [[nodiscard]] const std::uint8_t* block(std::size_t i) const { return planes + i * kBits * 64; }
    // What pairs are made of.
    [[nodiscard]] const std::uint8_t* twos(std::size_t pair) const {
        return (kMinima ? part_minima : parts) + 2 * pair * kQuantPanel;
    }

    const std::uint8_t* scales;
    const std::uint8_t* minima;
    const std::uint8_t* parts;
    const std::uint8_t* part_minima;
    const std::uint8_t* planes;
};

// The functions of a kernel, rows in tiles, from what a Set has for its processor:
//   kTile                               rows at a time
//   kFewRows<bits>                      up to so many rows unpacking a chunk does not pay, as measured
//   Packed<bits, parts, minima>         where a tile reads weights and scales of a packed chunk,
//   UnpackedInBlocks, UnpackedInParts   or of one that unpack<bits, parts, minima>() took apart
//   blocks<bits, minima, rows>(source, n_blocks, values, facts, sums)
//   parts<bits, parts, minima, rows>(source, values, facts, sums)
template <typename Set, unsigned kBits, unsigned kParts, bool kMinima>
struct TiledKernel {
    template <std::size_t kRows, typename Source>
    static void tile(const std::uint8_t* from, std::size_t n_blocks, const std::int8_t* values,
                     const std::uint8_t* facts, float* sums) {
        const Source source(from, n_blocks);
        if constexpr (kParts > 0) {
            Set::template parts<kBits, kParts, kMinima, kRows>(
                source, values, reinterpret_cast<const ChunkFacts*>(facts), sums);
        } else {
            Set::template blocks<kBits, kMinima, kRows>(source, n_blocks, values,
                                                        reinterpret_cast<const BlockFacts*>(facts), sums);
        }
    }

    // At most kRows.
    template <typename Source, std::size_t kRows>
    static void rest(const std::uint8_t* from, std::size_t n_blocks, const std::int8_t* values,
                     const std::uint8_t* facts, std::size_t n_rows, float* sums) {
        if constexpr (kRows > 0) {
            if (n_rows == kRows) return tile<kRows, Source>(from, n_blocks, values, facts, sums);
            rest<Source, kRows - 1>(from, n_blocks, values, facts, n_rows, sums);
        }
    }

    template <typename Source>
    static void all(const std::uint8_t* from, std::size_t n_blocks, const std::int8_t* values,
                    const std::uint8_t* facts, std::size_t n_rows, float* sums) {
        constexpr std::size_t kTile = Set::kTile;
        for (; n_rows >= kTile; n_rows -= kTile) {
            tile<kTile, Source>(from, n_blocks, values, facts, sums);
            values += kTile * kQuantChunk;
            facts += kTile * kFactsBytes;
            sums += kTile * kQuantPanel;
        }
        rest<Source, kTile - 1>(from, n_blocks, values, facts, n_rows, sums);
    }

    static Kernel kernel() {
        constexpr auto kPacked = all<typename Set::template Packed<kBits, kParts, kMinima>>;
        constexpr std::size_t kFewRows = Set::template kFewRows<kBits>;
        constexpr auto kUnpack = Set::template unpack<kBits, kParts, kMinima>;
        if constexpr (kFewRows == kAnyRows) {
            return {kPacked, kAnyRows, nullptr, nullptr};
        } else if constexpr (kParts > 0) {
            return {kPacked, kFewRows, kUnpack, all<typename Set::UnpackedInParts>};
        } else {
            return {kPacked, kFewRows, kUnpack, all<typename Set::UnpackedInBlocks>};
        }
    }
};

}  // namespace

}  // namespace clasp::model::quant
