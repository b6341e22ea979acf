// Compiled for AVX-VNNI; runs only where the processor has it.
#include "model/quant_vnni256.h"

namespace clasp::model::quant {

Kernel avxvnni_kernel(const QuantFormat& format) {
    return kernel_of<MakeVnni256>(format);
}

}  // namespace clasp::model::quant
