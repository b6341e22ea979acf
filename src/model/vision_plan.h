// What becomes of a picture of a given size: how it is resampled and cut into pieces, what the encoder makes
// of each piece, and in which order the decoder gets the tokens. Plain data, no ggml; a tower makes it, the
// engine follows it. See docs/design/geometry.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "clasp/fuse.h"
#include "clasp/image.h"
#include "clasp/image_layout.h"
#include "clasp/status.h"
#include "image/plain_resize.h"
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
    // The rows before the patches are tokens too, before those of the patches; only without merging.
    bool projects_prefix = false;
    std::size_t tower = 0;  // which encodes it, of families that have several

    [[nodiscard]] std::size_t n_patches() const { return patches.height * patches.width; }
    [[nodiscard]] std::size_t n_rows() const { return n_prefix + n_patches(); }
    [[nodiscard]] Grid tokens() const { return {patches.height / merge, patches.width / merge}; }
    // Tokens that are no patches; encoder rows that are fused and projected; tokens.
    [[nodiscard]] std::size_t n_class_tokens() const { return projects_prefix ? n_prefix : 0; }
    [[nodiscard]] std::size_t n_projected() const { return n_class_tokens() + n_patches(); }
    [[nodiscard]] std::size_t n_tokens() const { return n_class_tokens() + tokens().height * tokens().width; }
    friend bool operator==(const PieceShape&, const PieceShape&) = default;
};

// The whole picture, resampled.
struct PictureView {
    // The view that it is made from, an earlier one; kFromPicture: the picture itself.
    std::size_t from = static_cast<std::size_t>(-1);
    image::Fit fit;
    std::size_t frame = 0;  // of a clip: which of the frames that were sampled
    // Resampled in floating point to fit.resized, bilinear without antialiasing, and not rounded to bytes:
    // image::resize_plain(). Of the fit nothing else counts, `from` is the picture, and pieces are no pairs.
    bool is_plain = false;
};
inline constexpr std::size_t kFromPicture = static_cast<std::size_t>(-1);

inline constexpr std::size_t kNoView = static_cast<std::size_t>(-1);

// What the encoder sees at once: a rectangle of a view, or the same of two, of which towers that know time
// make one grid of patches.
struct ImagePiece {
    std::size_t view = 0;
    std::size_t second_view = kNoView;
    int left = 0;
    int top = 0;
    PixelSize size;
    PieceShape shape;

    [[nodiscard]] bool is_pair() const { return second_view != kNoView; }
    // Planes of pixels, three for each view.
    [[nodiscard]] std::size_t n_planes() const { return is_pair() ? 6 : 3; }
};

// A piece and its normalised pixels: n_planes() of size.height rows of size.width.
struct PiecePixels {
    ImagePiece piece;
    std::vector<float> values;
};

// A run of what the decoder gets for a picture.
struct ArrangedRun {
    enum class Kind : std::uint8_t {
        Tokens,  // `count` tokens of a piece from `first` on: its class row if that is one, then cells row by
                 // row
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
    // A fixed row that is a token of the picture itself, chosen like any other.
    bool is_token = false;

    // Tokens of the picture in this run.
    [[nodiscard]] std::size_t own_tokens() const {
        return kind == Kind::Tokens ? count : (kind == Kind::Fixed && is_token ? 1 : 0);
    }
    std::string text = {};
};

struct VisionPlan {
    ImageLayout layout;
    // Of decoders whose positions know time: when each region is, counted from the first region of its part
    // of the prompt. Empty: at 0, and there is one region.
    std::vector<std::int32_t> times = {};
    std::vector<PictureView> views;
    std::vector<ImagePiece> pieces;
    // So many pieces that follow each other see each other in the encoder, and are encoded together.
    std::size_t pieces_at_once = 1;
    std::vector<ArrangedRun> arrangement;
};

// A token of a picture, as its piece knows it.
inline constexpr std::size_t kFixedRow = static_cast<std::size_t>(-1);
struct TokenCell {
    std::size_t piece = 0;  // or kFixedRow: no piece's, but a row that the tower brings
    std::size_t cell = 0;   // which of the piece's tokens; or which fixed row
    friend bool operator==(const TokenCell&, const TokenCell&) = default;
};

// The tokens of the picture in their order, without text and fixed rows that are none.
std::vector<TokenCell> token_cells(const VisionPlan& plan);

// The part of the picture that a rectangle of a view shows.
PixelRect area_of(const VisionPlan& plan, std::size_t view, const PixelRect& part);
// The same for a whole piece.
PixelRect area_of(const VisionPlan& plan, const ImagePiece& piece);

// A picture that is one piece: a whole view, whose tokens go on row by row. pad_colour is the fit's.
VisionPlan single_piece_plan(PixelSize picture, const image::Fit& fit, const PieceShape& shape);

// Whether the parts of a plan fit together. Error: internal, since towers make plans.
Status check_vision_plan(const VisionPlan& plan);

// Makes the pieces of a plan from pictures that come one after the other; of each only the views of the plan
// are kept. The plan is borrowed.
class PieceRenderer {
   public:
    explicit PieceRenderer(const VisionPlan& plan)
        : plan_(plan), views_(plan.views.size()), planes_(plan.pieces.size()) {}

    // The picture, or a frame of the clip by its number among the sampled ones. Error: invalid_argument when
    // it is not of the plan's size.
    Status add(const Image& picture, std::size_t frame);
    // Once all are there; these turn pixels, as bytes and from 0 to 255, into what the tower takes.
    using PixelValues = std::function<Result<std::vector<float>>(const Image& part)>;
    using PlaneValues = std::function<Result<std::vector<float>>(const image::PixelPlanes& part)>;
    [[nodiscard]] Result<std::vector<PiecePixels>> finish(const PixelValues& values,
                                                          const PlaneValues& plain_values) const;

   private:
    Status add_plain(const Image& picture, std::size_t view);

    const VisionPlan& plan_;
    std::vector<Image> views_;
    std::vector<image::PixelPlanes>
        planes_;  // per piece: its part of a plain view, which has nothing in views_
};

// The pieces of a picture as its plan says. Error: invalid_argument when the picture is not of the plan's
// size.
Result<std::vector<PiecePixels>> render_pieces(const Image& picture, const VisionPlan& plan,
                                               const image::Normalisation& normalisation, Compat compat);

}  // namespace clasp::model
