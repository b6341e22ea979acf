#include "model/kernel_set.h"

namespace clasp::model {

const std::vector<KernelSet>& kernel_sets() {
    static const std::vector<KernelSet> sets = [] {
        std::vector<KernelSet> found = {KernelSet::Scalar};
#ifdef CLASP_HAVE_X86_KERNELS
        const bool has_avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
        if (!has_avx2) return found;
        found.push_back(KernelSet::Avx2);
        if (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
            __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512vnni") != 0) {
            found.push_back(KernelSet::Avx512);
        }
#endif
        return found;
    }();
    return sets;
}

}  // namespace clasp::model
