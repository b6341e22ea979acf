// Products y = W x + b of a decoder, W quantised as in GGUF files and kept exactly so in a layout of our own
// (quant_format.h), x rounded to bytes (quant_rows.h). Sums over a block of 32 inputs, or over 256 in types
// with scales in two levels, are exact integers; the blocks are added in float32, in one order.
//
// Results do not depend on how the work is split over threads, on the other rows, nor on the kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "model/kernel_set.h"
#include "model/quant_format.h"
#include "model/quant_rows.h"

namespace clasp::model {

struct FreeAligned {
    std::size_t alignment = 64;
    void operator()(std::uint8_t* memory) const;
};

class QuantMatrix {
   public:
    // The processor has kernels that are worth using.
    static bool is_fast() { return fastest_kernels() != KernelSet::Scalar; }
    // Bytes of a matrix of this shape.
    static std::size_t bytes(const QuantFormat& format, std::size_t n_inputs, std::size_t n_outputs);

    // n_inputs must be whole blocks of the format. Null when there is no memory.
    static std::unique_ptr<QuantMatrix> create(const QuantFormat& format, std::size_t n_inputs,
                                               std::size_t n_outputs);

    // A matrix that was packed before; `packed`, bytes() of it, must outlive this. Null when there is no
    // memory.
    static std::unique_ptr<QuantMatrix> view(const QuantFormat& format, std::size_t n_inputs,
                                             std::size_t n_outputs, std::span<const std::byte> packed);

    // Sets panels begin ... end - 1 from the rows of the file. Every panel must be set once before the matrix
    // is used; different panels may be set on different threads. Not for a view.
    void pack(const void* stored, std::size_t begin, std::size_t end);

    [[nodiscard]] const QuantFormat& format() const { return *format_; }
    [[nodiscard]] std::size_t n_inputs() const { return n_inputs_; }
    [[nodiscard]] std::size_t n_outputs() const { return n_outputs_; }
    [[nodiscard]] std::size_t n_panels() const { return (n_outputs_ + kQuantPanel - 1) / kQuantPanel; }
    // As view() takes it.
    [[nodiscard]] std::span<const std::byte> packed() const;

    // Computes the outputs of part `part` of `n_parts` for all rows; y: n_rows x n_outputs. bias: n_outputs
    // values, or null. The rows must be of this matrix' width and of its format's kind.
    void multiply(const QuantRows& rows, const float* bias, std::size_t part, std::size_t n_parts, float* y,
                  KernelSet kernels = fastest_kernels()) const;

   private:
    QuantMatrix(const QuantFormat& format, std::size_t n_inputs, std::size_t n_outputs);

    const QuantFormat* format_ = nullptr;
    std::size_t n_inputs_ = 0;
    std::size_t n_outputs_ = 0;
    std::size_t panel_bytes_ = 0;
    const std::uint8_t* data_ = nullptr;                   // [panel][chunk]
    std::unique_ptr<std::uint8_t[], FreeAligned> memory_;  // of data_; null for a view
};

}  // namespace clasp::model
