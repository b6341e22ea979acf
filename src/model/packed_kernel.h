// Private to packed_matrix.cpp: the layout's constants and the kernels, those for x86 apart because they are
// compiled with other flags. Plain pointers only, so that no inline function of the library is compiled
// twice.
#pragma once

#include <cstddef>
#include <cstdint>

namespace clasp::model::packed {

inline constexpr std::size_t kBlock = 256;  // inputs that share a scale
inline constexpr std::size_t kPanel = 16;   // outputs per step of the kernel
inline constexpr std::size_t kTile = 6;     // rows of x per step of the kernel
inline constexpr int kMaxWeight = 2047;
inline constexpr int kMaxInput = 4095;
static_assert(static_cast<std::int64_t>(kBlock) * kMaxWeight * kMaxInput < INT32_MAX);

// One or more neighbouring panels of outputs times one tile of rows over one block of inputs.
struct Step {
    const std::int16_t* weights = nullptr;  // [n_panels][n_pairs][kPanel][2]
    const std::int32_t* inputs = nullptr;   // [n_pairs][kTile], each a pair of 16-bit values
    const float* weight_scales = nullptr;   // [n_panels][kPanel]
    const float* input_scales = nullptr;    // [kTile]
    std::size_t n_panels = 1;               // at most as many as the kernel takes
    std::size_t n_pairs = 0;
    std::size_t n_rows = 0;       // rows of the tile that exist
    const float* sums = nullptr;  // what earlier blocks gave, laid out with sums_stride; null: nothing yet
    std::size_t sums_stride = 0;
    float* y = nullptr;  // first row, first output of the first panel; may be the same place as sums
    std::size_t y_stride = 0;
    bool is_last = false;         // last block: the bias is added, then the epilogue applied
    const float* bias = nullptr;  // of the panels; null: none
    int epilogue = 0;             // an Epilogue
};

void step_scalar(const Step& step);  // one panel
void step_avx2(const Step& step);    // one panel
void step_avx512(const Step& step);  // one to four
inline constexpr std::size_t kAvx512Panels = 4;

// Rounds one row's block to 16 bits and returns its scale: NaN if a value is not finite, so that what is made
// from it is not finite either.
float round_block_scalar(const float* x, std::size_t n, int max, std::int16_t* out);
float round_block_avx2(const float* x, std::size_t n, int max, std::int16_t* out);  // n: a multiple of 16

}  // namespace clasp::model::packed
