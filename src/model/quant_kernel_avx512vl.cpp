// Compiled for AVX-512 VL with VNNI; runs only where the processor has it.
#include "model/quant_vnni256.h"

namespace clasp::model::quant {

Kernel avx512vl_kernel(const QuantFormat& format) {
    return kernel_of<MakeVnni256>(format);
}

}  // namespace clasp::model::quant
