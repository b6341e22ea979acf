// Where the visual tokens of a picture lie on it. Known from the picture's size, before anything is computed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "clasp/fuse.h"
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
    std::array<std::uint8_t, 3> pad_colour = {};
    // False: the model does not say where its tokens lie; regions are then rows of them over the whole
    // picture.
    bool is_placed = true;

    // Tokens that a method can choose from.
    [[nodiscard]] std::size_t n_tokens() const;
    // The part of the picture that a token shows; token is below n_tokens().
    [[nodiscard]] PixelRect cell(TokenIndex token) const;
};

}  // namespace clasp
