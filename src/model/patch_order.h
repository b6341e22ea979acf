// The order in which a tower that merges patches keeps its rows: the patches of a token stand together, and
// the tokens of an attention window too, so that a window is a run of rows. Plain data, no ggml.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/vision_plan.h"

namespace clasp::model {

// A rectangle of the token grid.
struct TokenWindow {
    std::size_t row = 0;
    std::size_t column = 0;
    Grid size;
};

// Windows of side x side tokens from the top left, row by row; those at the right and bottom may be smaller.
std::vector<TokenWindow> token_windows(const Grid& tokens, std::size_t side);

// So many neighbouring windows of the same number of rows.
struct WindowRun {
    std::size_t first_row = 0;
    std::size_t n_rows = 0;  // of each window
    std::size_t n_windows = 0;
};

struct PatchOrder {
    struct Place {
        std::int32_t y = 0;
        std::int32_t x = 0;
    };
    std::vector<Place> rows;           // per row of the tower: its patch
    std::vector<std::int32_t> tokens;  // per group of merged rows: its token, counted row by row of the grid
    std::vector<WindowRun> windows;    // at most four, whatever the grid: whole ones and three kinds of edges
};

// window: tokens per side of a window; 0: the whole piece is one.
PatchOrder patch_order(const PieceShape& shape, std::size_t window);

// For each token of the grid, the group of rows that holds it.
std::vector<std::int32_t> groups_of_tokens(const PatchOrder& order);

}  // namespace clasp::model
