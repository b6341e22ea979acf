// Which of the kernels that are compiled for several processors this one can run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace clasp::model {

enum class KernelSet : std::uint8_t {
    Scalar,
    Avx2,     // with FMA and F16C
    Vnni256,  // sums of four products in one instruction of 256 bits, on top of Avx2; see has_avx_vnni()
    Avx512,   // F, BW, VL and VNNI, on top of Avx2
    Dotprod,  // of ARMv8.2
    I8mm,     // of ARMv8.6, on top of Dotprod
};

// Has kernels of every sort; on ARM only those of quant_matrix.h are there.
constexpr bool is_x86(KernelSet set) {
    return set == KernelSet::Avx2 || set == KernelSet::Vnni256 || set == KernelSet::Avx512;
}

// "scalar", "avx2", "vnni256", "avx512", "dotprod", "i8mm".
std::string_view kernel_set_name(KernelSet set);

// The names that base::kKernelLimit can have, each with a comma behind it but the last; empty when it is
// unset or has one of them. Another name limits nothing; Compute refuses it.
std::string wrong_kernel_limit();

// The fastest last; never empty. Kernels that gain nothing from a set run as those of the one before.
const std::vector<KernelSet>& kernel_sets();
inline KernelSet fastest_kernels() {
    return kernel_sets().back();
}

// How Vnni256 is encoded: as AVX-VNNI; else as part of AVX-512.
bool has_avx_vnni();

}  // namespace clasp::model
