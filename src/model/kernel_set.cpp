#include "model/kernel_set.h"

#include <array>
#include <optional>
#include <string>

#include "base/kernel_limit.h"

#ifdef CLASP_HAVE_X86_KERNELS
#include <cpuid.h>
#endif
#ifdef CLASP_HAVE_ARM_KERNELS
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace clasp::model {

namespace {

constexpr std::array kAllSets = {KernelSet::Scalar, KernelSet::Avx2,    KernelSet::Vnni256,
                                 KernelSet::Avx512, KernelSet::Dotprod, KernelSet::I8mm};

// Nothing: no limit, or no name that could be one.
std::optional<KernelSet> limiting_set() {
    for (const KernelSet set : kAllSets) {
        if (kernel_set_name(set) == base::kernel_limit()) return set;
    }
    return std::nullopt;
}

}  // namespace

std::string_view kernel_set_name(KernelSet set) {
    switch (set) {
        case KernelSet::Scalar: return "scalar";
        case KernelSet::Avx2: return "avx2";
        case KernelSet::Vnni256: return "vnni256";
        case KernelSet::Avx512: return "avx512";
        case KernelSet::Dotprod: return "dotprod";
        case KernelSet::I8mm: return "i8mm";
    }
    return "";
}

std::string wrong_kernel_limit() {
    if (base::kernel_limit().empty() || limiting_set()) return {};
    std::string names;
    for (const KernelSet set : kAllSets) {
        if (!names.empty()) names += ", ";
        names += kernel_set_name(set);
    }
    return names;
}

bool has_avx_vnni() {
#ifdef CLASP_HAVE_X86_KERNELS
    // Not a name that every compiler's __builtin_cpu_supports() knows.
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    return __builtin_cpu_supports("avx2") != 0 && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 &&
           (a >> 4U & 1U) != 0;
#else
    return false;
#endif
}

const std::vector<KernelSet>& kernel_sets() {
    static const std::vector<KernelSet> sets = [] {
        std::vector<KernelSet> found = {KernelSet::Scalar};
#ifdef CLASP_HAVE_X86_KERNELS
        // All that have AVX2 have F16C.
        const bool has_avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
        if (!has_avx2) return found;
        found.push_back(KernelSet::Avx2);
        const bool has_avx512 =
            __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
            __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512vnni") != 0;
        if (has_avx512 || has_avx_vnni()) found.push_back(KernelSet::Vnni256);
        if (has_avx512) found.push_back(KernelSet::Avx512);
#endif
#ifdef CLASP_HAVE_ARM_KERNELS
        if ((::getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0) {
            found.push_back(KernelSet::Dotprod);
            if ((::getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0) found.push_back(KernelSet::I8mm);
        }
#endif
        const std::optional<KernelSet> limit = limiting_set();
        while (limit && found.back() > *limit) found.pop_back();
        return found;
    }();
    return sets;
}

}  // namespace clasp::model
