// The one kernel of fusion: a weighted sum of rows. Private to fuse.
#pragma once

#include <cstddef>
#include <span>

#include "clasp/float_type.h"

namespace clasp::fuse {

// One row that takes part, borrowed.
struct Tap {
    const std::byte* row = nullptr;
    FloatType type = FloatType::F32;
    float weight = 0.0F;
};

// For each i in [first, last): out[i] = w0 x0[i], then fma(w_k, x_k[i], out[i]) for each further tap in
// order. Every version gives the same bits. Rows need no alignment and must not overlap out. There is at
// least one tap.
using WeightedSum = void (*)(std::span<const Tap> taps, std::size_t first, std::size_t last, float* out);

void weighted_sum_scalar(std::span<const Tap> taps, std::size_t first, std::size_t last, float* out);

#if defined(__x86_64__)
#define CLASP_FUSE_AVX2 1
// Needs AVX2, FMA and F16C.
void weighted_sum_avx2(std::span<const Tap> taps, std::size_t first, std::size_t last, float* out);
bool has_avx2();
#endif

// The fastest version that this machine runs; chosen once.
WeightedSum best_weighted_sum();

}  // namespace clasp::fuse
