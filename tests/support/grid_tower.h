// A vision family that exists in tests alone, made to be as unlike CLIP as the seam allows: pictures of any
// shape, an overview and the whole picture as two pieces, no class token, four patches per token, a fixed row
// behind the overview and behind every row of tokens, text between the pieces if the file asks for it, and
// graphs with several inputs.
#pragma once

#include <cstddef>
#include <string>

#include "model/vision_plan.h"

namespace clasp::test {

inline constexpr int kGridTokenSide = 8;  // pixels; 2 x 2 patches
inline constexpr int kGridMaxSide = 64;
inline constexpr std::size_t kGridOverview = 4;  // tokens of the overview
inline constexpr std::size_t kGridWidth = 32;

// Makes the projector type "test-grid" known; any number of times.
void register_grid_tower();

struct GridSpec {
    std::size_t n_blocks = 23;
    std::size_t output_width = 96;
    bool has_text = false;  // "abc" between the pieces
    unsigned seed = 1;
};
// A vision file with random weights.
std::string grid_mmproj(const GridSpec& spec);

// The number of columns or rows of tokens that a side becomes.
std::size_t grid_side(int pixels);

}  // namespace clasp::test
