// Products y = W x + b in 16-bit integers.
//
// Inputs are cut into blocks of 256. In each block every row of W and every row of x has its own scale;
// W is rounded to 12 bits, x to 13, so the sum over a block fits 32 bits exactly. Blocks are added in
// float32. The rounding is about that of half precision, the speed on AVX2 about twice that of float32:
// one instruction multiplies and adds 16 pairs, where a fused multiply-add does 8. With VNNI it is 32 pairs,
// sum included.
//
// Results do not depend on how the work is split over threads, nor on the kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "model/kernel_set.h"

namespace clasp::model {

// What happens to W x + b before it is stored.
enum class Epilogue : std::uint8_t { None, QuickGelu, Gelu };

class PackedMatrix {
   public:
    // The processor has a kernel that is worth using.
    static bool is_fast() { return is_x86(fastest_kernels()); }
    // Shapes that the layout can hold: whole panels of outputs, whole vectors of inputs.
    static bool fits(std::size_t n_inputs, std::size_t n_outputs);

    // The shape must fit. Null when there is no memory.
    static std::unique_ptr<PackedMatrix> create(std::size_t n_inputs, std::size_t n_outputs);

    // values: n_inputs floats. Every row must be set once before the matrix is used.
    void set_row(std::size_t output, const float* values);

    [[nodiscard]] std::size_t n_inputs() const { return n_inputs_; }
    [[nodiscard]] std::size_t n_outputs() const { return n_outputs_; }

    // ---- The two steps of a product ----

    // Bytes that n_rows packed rows of x take.
    static std::size_t packed_rows_bytes(std::size_t n_inputs, std::size_t n_rows);
    // Packs part `part` of `n_parts` of the rows of x (contiguous, n_rows x n_inputs). All parts must be
    // done before multiply(). packed must be aligned to 4 bytes.
    static void pack_rows(const float* x, std::size_t n_inputs, std::size_t n_rows, std::size_t part,
                          std::size_t n_parts, void* packed);
    // Computes the outputs of part `part` of `n_parts` for all rows; y: n_rows x n_outputs. bias: n_outputs
    // values, or null. All kernels give the same bits, but for the scalar one's exponential in the epilogue,
    // which the others approximate to about one unit in the last place.
    void multiply(const void* packed, std::size_t n_rows, const float* bias, Epilogue epilogue,
                  std::size_t part, std::size_t n_parts, float* y,
                  KernelSet kernels = fastest_kernels()) const;

   private:
    PackedMatrix() = default;

    std::size_t n_inputs_ = 0;
    std::size_t n_outputs_ = 0;
    // [block][panel of 16 outputs][pair of inputs][16 outputs][2]
    std::unique_ptr<std::int16_t[]> values_;
    std::unique_ptr<float[]> scales_;  // [block][output]
};

}  // namespace clasp::model
