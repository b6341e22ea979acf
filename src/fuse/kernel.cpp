#include "fuse/kernel.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/float_convert.h"

namespace clasp::fuse {
namespace {

float load(const Tap& tap, std::size_t i) {
    if (tap.type == FloatType::F32) {
        float value = 0.0F;
        std::memcpy(&value, tap.row + i * sizeof(value), sizeof(value));
        return value;
    }
    std::uint16_t bits = 0;
    std::memcpy(&bits, tap.row + i * sizeof(bits), sizeof(bits));
    return tap.type == FloatType::F16 ? base::half_to_float(bits) : base::bfloat_to_float(bits);
}

}  // namespace

void weighted_sum_scalar(std::span<const Tap> taps, std::size_t first, std::size_t last, float* out) {
    for (std::size_t i = first; i < last; ++i) {
        float sum = taps[0].weight * load(taps[0], i);
        for (const Tap& tap : taps.subspan(1)) sum = std::fma(tap.weight, load(tap, i), sum);
        out[i] = sum;
    }
}

WeightedSum best_weighted_sum() {
#if defined(CLASP_FUSE_AVX2)
    static const WeightedSum kBest = has_avx2() ? weighted_sum_avx2 : weighted_sum_scalar;
    return kBest;
#else
    return weighted_sum_scalar;
#endif
}

}  // namespace clasp::fuse
