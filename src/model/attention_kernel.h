// Private to attention_tile.cpp: the kernels for x86, apart because they are compiled with other flags.
// Plain pointers only, so that no inline function of the library is compiled twice.
#pragma once

#include <cstddef>
#include <cstdint>

namespace clasp::model::attention {

inline constexpr std::size_t kTile = 6;    // rows at a time
inline constexpr std::size_t kPanel = 16;  // columns at a time

// c = a b for kTile rows of a and one or two neighbouring panels of b. Sums rise with the depth, so that both
// kernels give the same bits.
struct Step {
    const float* a[kTile];     // depth values each
    const float* b;            // [n_panels][depth][kPanel]
    std::size_t panel_stride;  // floats from a panel of b to the next
    std::size_t depth;
    std::size_t n_panels;
    float* c[kTile];  // n_panels * kPanel values each
};
void multiply_avx2(const Step& step);
void multiply_avx512(const Step& step);

// Of all of them, n is a multiple of 8 except where said otherwise.
float maximum_avx2(const float* values, std::size_t n);
// Replaces scores by exp(scale (score - top)) and returns the sum of these.
float exponentials_avx2(float* scores, std::size_t n, float scale, float top);
void scale_avx2(float* values, std::size_t n, float factor);
void add_avx2(float* values, const float* more, std::size_t n);
// values += factor * halves, any n.
void add_halves_avx2(float* values, const std::uint16_t* halves, std::size_t n, float factor);

}  // namespace clasp::model::attention
