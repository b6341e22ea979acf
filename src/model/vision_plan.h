// What becomes of a picture of a given size: how it is resampled and cut into pieces, what the encoder makes
// of each piece, and in which order the decoder gets the tokens. Plain data, no ggml; a tower makes it, the
// engine follows it. See docs/design/geometry.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "clasp/fuse.h"
#include "clasp/image.h"
#include "clasp/image_layout.h"
#include "clasp/status.h"
#include "image/preprocess.h"

namespace clasp::model {

// What a plan depends on beside the picture's size.
struct PlanOptions {
    Compat compat = Compat::Original;
    PictureDetail detail = {};  // towers never see a preset: it has become limits by then
};

// The rows of a piece, from pixels to tokens.
struct PieceShape {
    Grid patches;              // encoder rows behind the prefix
    std::size_t n_prefix = 0;  // encoder rows before them: 1 with a class token, else 0
    std::size_t merge = 1;     // merge x merge patches become a token; both sides of the grid divide by it

    [[nodiscard]] std::size_t n_patches() const { return patches.height * patches.width; }
    [[nodiscard]] std::size_t n_rows() const { return n_prefix + n_patches(); }
    [[nodiscard]] Grid tokens() const { return {patches.height / merge, patches.width / merge}; }
    [[nodiscard]] std::size_t n_tokens() const { return tokens().height * tokens().width; }
    friend bool operator==(const PieceShape&, const PieceShape&) = default;
};

// The whole picture, resampled.
struct PictureView {
    // The view that it is made from, an earlier one; kFromPicture: the picture itself.
    std::size_t from = static_cast<std::size_t>(-1);
    image::Fit fit;
};
inline constexpr std::size_t kFromPicture = static_cast<std::size_t>(-1);

// What the encoder sees at once: a rectangle of a view.
struct ImagePiece {
    std::size_t view = 0;
    int left = 0;
    int top = 0;
    PixelSize size;
    PieceShape shape;
};

// A piece and its normalised pixels: 3 planes of size.height rows of size.width.
struct PiecePixels {
    ImagePiece piece;
    std::vector<float> values;
};

// A run of what the decoder gets for a picture.
struct ArrangedRun {
    enum class Kind : std::uint8_t {
        Tokens,  // `count` tokens of a piece from cell `first` on, row by row
        Fixed,   // a row that the tower brings, see VisionTower::fixed_row()
        Text,    // to be tokenised as text of the template, control tokens included
    };
    Kind kind = Kind::Tokens;
    std::size_t piece = 0;
    std::size_t first = 0;
    std::size_t count = 0;
    // Of a fixed row: which one, and the tokens of the picture that it goes with. It lives while one of them
    // does, or always when there are none. A token goes with at most one fixed row.
    std::size_t fixed = 0;
    std::size_t first_token = 0;
    std::size_t n_tokens = 0;
    std::string text = {};
};

struct VisionPlan {
    ImageLayout layout;
    std::vector<PictureView> views;
    std::vector<ImagePiece> pieces;
    std::vector<ArrangedRun> arrangement;
};

// A token of a picture, as its piece knows it.
struct TokenCell {
    std::size_t piece = 0;
    std::size_t cell = 0;  // of the piece's token grid, row by row
    friend bool operator==(const TokenCell&, const TokenCell&) = default;
};

// The tokens of the picture in their order, without fixed rows and text.
std::vector<TokenCell> token_cells(const VisionPlan& plan);

// The part of the picture that a rectangle of a view shows.
PixelRect area_of(const VisionPlan& plan, std::size_t view, const PixelRect& part);
// The same for a whole piece.
PixelRect area_of(const VisionPlan& plan, const ImagePiece& piece);

// A picture that is one piece: a whole view, whose tokens go on row by row. pad_colour is the fit's.
VisionPlan single_piece_plan(PixelSize picture, const image::Fit& fit, const PieceShape& shape);

// Whether the parts of a plan fit together. Error: internal, since towers make plans.
Status check_vision_plan(const VisionPlan& plan);

// The pieces of a picture as its plan says. Error: invalid_argument when the picture is not of the plan's
// size.
Result<std::vector<PiecePixels>> render_pieces(const Image& picture, const VisionPlan& plan,
                                               const image::Normalisation& normalisation, Compat compat);

}  // namespace clasp::model
