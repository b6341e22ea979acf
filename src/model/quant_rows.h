// Rows of inputs rounded to bytes, as the integer products of quant_matrix.h take them. Rounded once, they
// serve every matrix whose type asks for the same kind.
//
// Values lie as [chunk of 256 inputs][row][256], what is known of them as [chunk][row][64 bytes]; inputs
// beyond the last are not read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/kernel_set.h"
#include "model/quant_format.h"

namespace clasp::model {

struct QuantRows {
    std::size_t n_inputs = 0;  // a multiple of 32; of 256 for QuantRowKind::Chunk
    std::size_t n_rows = 0;
    QuantRowKind kind = QuantRowKind::Offset8;
    std::uint8_t* memory = nullptr;  // bytes() of it, aligned to 4 bytes

    [[nodiscard]] std::size_t n_chunks() const { return (n_inputs + kQuantChunk - 1) / kQuantChunk; }
    [[nodiscard]] std::size_t bytes() const;
    [[nodiscard]] std::int8_t* values(std::size_t chunk, std::size_t row) const;
    [[nodiscard]] std::uint8_t* facts(std::size_t chunk, std::size_t row) const;

    // Rounds part `part` of `n_parts` of the rows of x; they are stride floats apart. All parts must be done
    // before a product. All kernels give the same bits.
    void round(const float* x, std::size_t stride, std::size_t part, std::size_t n_parts,
               KernelSet kernels = fastest_kernels()) const;
};

}  // namespace clasp::model
