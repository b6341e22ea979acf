// Compiled for ARMv8.2 with the dot product; runs only where the processor has it. One instruction multiplies
// a quarter of a step by four bytes of a row: 4 outputs x 4 inputs, sums of 32 bits that cannot overflow.
#include "model/quant_neon.h"

namespace clasp::model::quant {

namespace {

template <unsigned kBits, unsigned kParts, bool kMinima>
struct MakeDotprod : TiledKernel<SetNeon, kBits, kParts, kMinima> {};

}  // namespace

Kernel dotprod_kernel(const QuantFormat& format) {
    return kernel_of<MakeDotprod>(format);
}

}  // namespace clasp::model::quant
