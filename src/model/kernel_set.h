// Which of the kernels that are compiled for several processors this one can run.
#pragma once

#include <cstdint>
#include <vector>

namespace clasp::model {

enum class KernelSet : std::uint8_t {
    Scalar,
    Avx2,    // with FMA
    Avx512,  // F, BW, VL and VNNI, on top of Avx2
};

// The fastest last; never empty.
const std::vector<KernelSet>& kernel_sets();
inline KernelSet fastest_kernels() {
    return kernel_sets().back();
}

}  // namespace clasp::model
