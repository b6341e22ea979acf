// Where the visual tokens of a picture lie on it. Known from the picture's size, before anything is computed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "clasp/grid.h"
#include "clasp/image.h"
#include "clasp/select.h"

namespace clasp {

// In pixels of a picture. It reaches beyond the picture where that was padded.
struct PixelRect {
    double left = 0.0;
    double top = 0.0;
    double width = 0.0;
    double height = 0.0;
};

// Tokens that follow each other row by row and lie side by side.
struct TokenRegion {
    Grid grid;
    PixelRect area;  // of the picture; the grid divides it evenly
    // Regions of one view lie beside each other, those of different views over each other: an overview and
    // the tiles of the same picture are two views.
    std::size_t view = 0;
    std::size_t step = 0;  // of a clip: which of the moments that it is seen at; 0 in pictures
    // Every row ends with one more token, a line break, which has no place on the picture.
    bool has_breaks = false;
    // Before the cells stands one more token, the encoder's class row, which has no place on the picture
    // either.
    bool has_class = false;

    // Tokens before the first cell, of a row, and of all of them.
    [[nodiscard]] std::size_t first_cell() const { return has_class ? 1 : 0; }
    [[nodiscard]] std::size_t n_row_tokens() const { return grid.width + (has_breaks ? 1 : 0); }
    [[nodiscard]] std::size_t n_tokens() const { return first_cell() + grid.height * n_row_tokens(); }
};

struct ImageLayout {
    PixelSize picture;         // as the model sees it: upright, but as stored with llama.cpp's numbers
    PixelSize resized;         // what resampling the whole picture gives, at its finest
    Grid tiles = {1, 1};       // rows and columns that it is cut into
    std::size_t n_pieces = 1;  // that the encoder sees apart: tiles, and an overview if there is one
    Grid grid;                 // tokens of the whole picture at its finest, all tiles together
    std::vector<TokenRegion> regions;  // in the order of the tokens
    // Rows that stand between tokens (line breaks): carried along, never chosen, no tokens of the picture.
    std::size_t n_fixed = 0;
    std::size_t n_steps = 1;  // of a clip: moments, each a frame or two that are seen as one
    std::array<std::uint8_t, 3> pad_colour = {};
    // False: the model does not say where its tokens lie; regions are then rows of them over the whole
    // picture.
    bool is_placed = true;

    // Tokens that a method can choose from.
    [[nodiscard]] std::size_t n_tokens() const;
    // The part of the picture that a token shows, of no width for a line break and of no size at all for a
    // class row; token is below n_tokens().
    [[nodiscard]] PixelRect cell(TokenIndex token) const;
};

}  // namespace clasp
