// Private to full_attention.cpp: the kernels for x86, apart because they are compiled with other flags.
// Plain pointers only, so that no inline function of the library is compiled twice.
#pragma once

#include <cstddef>

namespace clasp::model::attention {

inline constexpr std::size_t kTile = 6;    // rows at a time
inline constexpr std::size_t kPanel = 16;  // columns at a time

// c = a b for kTile rows of a and one or two neighbouring panels of b. Sums rise with the depth, so that both
// kernels give the same bits.
struct Step {
    const float* a[kTile];  // depth values each
    const float* b;         // [n_panels][depth][kPanel]
    std::size_t depth;
    std::size_t n_panels;
    float* c[kTile];  // n_panels * kPanel values each
};
void multiply_avx2(const Step& step);
void multiply_avx512(const Step& step);

// Replaces n scores by exp(scale (score - their maximum)) and returns the sum of these. n: a multiple of 8.
float exponentials_avx2(float* scores, std::size_t n, float scale);
// n: a multiple of 8.
void scale_avx2(float* values, std::size_t n, float factor);

}  // namespace clasp::model::attention
