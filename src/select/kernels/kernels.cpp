#include "select/kernels/kernels.h"

#include <array>
#include <atomic>

#include "base/kernel_limit.h"

namespace clasp::selection {
namespace {

struct Usable {
    std::array<const Kernels*, 3> tables = {};
    std::size_t count = 0;
};

// The limit's sets are the decoder's (model/kernel_set.h). Of those between two of these tables the lower one
// runs; a name that is none limits nothing.
Usable find_usable() {
    Usable usable;
    usable.tables[usable.count++] = &scalar_kernels();
    const std::string_view limit = base::kernel_limit();
    if (limit == "scalar") return usable;
#if defined(CLASP_KERNELS_X86)
    const bool has_avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
    if (has_avx2) usable.tables[usable.count++] = &avx2_kernels();
    const bool is_below_avx512 = limit == "avx2" || limit == "vnni256";
    if (has_avx2 && !is_below_avx512 && __builtin_cpu_supports("avx512f") != 0) {
        usable.tables[usable.count++] = &avx512_kernels();
    }
#elif defined(CLASP_KERNELS_NEON)
    usable.tables[usable.count++] = &neon_kernels();
#endif
    return usable;
}

std::atomic<const Kernels*> forced = nullptr;

}  // namespace

std::span<const Kernels* const> usable_kernels() {
    static const Usable usable = find_usable();
    return {usable.tables.data(), usable.count};
}

const Kernels& active_kernels() {
    const Kernels* table = forced.load(std::memory_order_acquire);
    return table != nullptr ? *table : *usable_kernels().back();
}

void force_kernels(const Kernels* kernels) {
    forced.store(kernels, std::memory_order_release);
}

}  // namespace clasp::selection
