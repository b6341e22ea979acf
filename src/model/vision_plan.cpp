#include "model/vision_plan.h"

#include <utility>

namespace clasp::model {

namespace {

PixelSize size_of(const Image& image) {
    return {image.width, image.height};
}

// The size of what a view is made from.
PixelSize source_size(const VisionPlan& plan, std::size_t view) {
    const std::size_t from = plan.views[view].from;
    return from == kFromPicture ? plan.layout.picture : plan.views[from].fit.size();
}

Status wrong(const std::string& what) {
    return {Code::Internal, "the vision tower planned a picture wrongly: " + what};
}

Status check_pieces(const VisionPlan& plan) {
    for (std::size_t i = 0; i < plan.views.size(); ++i) {
        const std::size_t from = plan.views[i].from;
        if (from != kFromPicture && from >= i) return wrong("a view is made from a later one");
    }
    for (const ImagePiece& piece : plan.pieces) {
        if (piece.view >= plan.views.size()) return wrong("a piece has no view");
        const PixelSize view = plan.views[piece.view].fit.size();
        const PieceShape& shape = piece.shape;
        if (piece.left < 0 || piece.top < 0 || piece.size.width < 1 || piece.size.height < 1 ||
            piece.size.width > view.width - piece.left || piece.size.height > view.height - piece.top) {
            return wrong("a piece is not inside its view");
        }
        if (shape.n_prefix > 1 || shape.merge == 0 || shape.n_tokens() == 0 ||
            shape.patches.height % shape.merge != 0 || shape.patches.width % shape.merge != 0) {
            return wrong("the grid of a piece does not fit its merging");
        }
    }
    return ok_status();
}

Status check_arrangement(const VisionPlan& plan) {
    std::size_t n_tokens = 0;
    std::size_t n_fixed = 0;
    std::vector<bool> has_row(plan.layout.n_tokens());
    for (const ArrangedRun& run : plan.arrangement) {
        if (run.kind == ArrangedRun::Kind::Tokens) {
            if (run.piece >= plan.pieces.size()) return wrong("a run of tokens has no piece");
            const std::size_t n_cells = plan.pieces[run.piece].shape.n_tokens();
            if (run.first > n_cells || run.count > n_cells - run.first) {
                return wrong("a run of tokens leaves its piece");
            }
            n_tokens += run.count;
        }
        if (run.kind == ArrangedRun::Kind::Fixed) {
            ++n_fixed;
            if (run.first_token > has_row.size() || run.n_tokens > has_row.size() - run.first_token) {
                return wrong("a fixed row goes with tokens that are not there");
            }
            for (std::size_t token = run.first_token; token < run.first_token + run.n_tokens; ++token) {
                if (has_row[token]) return wrong("a token goes with two fixed rows");
                has_row[token] = true;
            }
        }
    }
    if (n_tokens == 0 || n_tokens != plan.layout.n_tokens() || n_fixed != plan.layout.n_fixed ||
        plan.pieces.size() != plan.layout.n_pieces) {
        return wrong("its layout and its arrangement differ");
    }
    return ok_status();
}

}  // namespace

std::vector<TokenCell> token_cells(const VisionPlan& plan) {
    std::vector<TokenCell> cells;
    for (const ArrangedRun& run : plan.arrangement) {
        if (run.kind != ArrangedRun::Kind::Tokens) continue;
        for (std::size_t i = 0; i < run.count; ++i) cells.push_back({run.piece, run.first + i});
    }
    return cells;
}

PixelRect area_of(const VisionPlan& plan, std::size_t view, const PixelRect& part) {
    const image::Fit& fit = plan.views[view].fit;
    const bool has_ground = fit.before.size != PixelSize{};
    const PixelSize from = has_ground ? fit.before.size : source_size(plan, view);
    const bool is_padded = fit.after.size != PixelSize{};
    const double scale_x = static_cast<double>(from.width) / fit.resized.width;
    const double scale_y = static_cast<double>(from.height) / fit.resized.height;
    PixelRect area = part;
    area.left = (part.left - (is_padded ? fit.after.left : 0)) * scale_x - (has_ground ? fit.before.left : 0);
    area.top = (part.top - (is_padded ? fit.after.top : 0)) * scale_y - (has_ground ? fit.before.top : 0);
    area.width *= scale_x;
    area.height *= scale_y;
    const std::size_t source = plan.views[view].from;
    return source == kFromPicture ? area : area_of(plan, source, area);
}

PixelRect area_of(const VisionPlan& plan, const ImagePiece& piece) {
    return area_of(plan, piece.view,
                   {static_cast<double>(piece.left), static_cast<double>(piece.top),
                    static_cast<double>(piece.size.width), static_cast<double>(piece.size.height)});
}

VisionPlan single_piece_plan(PixelSize picture, const image::Fit& fit, const PieceShape& shape) {
    VisionPlan plan;
    plan.views = {{.from = kFromPicture, .fit = fit}};
    plan.pieces = {{.view = 0, .left = 0, .top = 0, .size = fit.size(), .shape = shape}};
    plan.arrangement = {
        {.kind = ArrangedRun::Kind::Tokens, .piece = 0, .first = 0, .count = shape.n_tokens()}};
    plan.layout.picture = picture;
    plan.layout.resized = fit.resized;
    plan.layout.grid = shape.tokens();
    plan.layout.pad_colour = fit.after.size == PixelSize{} ? fit.before.colour : fit.after.colour;
    plan.layout.regions = {{.grid = shape.tokens(), .area = area_of(plan, plan.pieces[0]), .view = 0}};
    return plan;
}

Status check_vision_plan(const VisionPlan& plan) {
    CLASP_RETURN_IF_ERROR(check_pieces(plan));
    return check_arrangement(plan);
}

Result<std::vector<PiecePixels>> render_pieces(const Image& picture, const VisionPlan& plan,
                                               const image::Normalisation& normalisation, Compat compat) {
    if (size_of(picture) != plan.layout.picture) {
        return Status(Code::InvalidArgument, "the picture has " + std::to_string(picture.width) + " x " +
                                                 std::to_string(picture.height) +
                                                 " pixels, but the plan is for " +
                                                 std::to_string(plan.layout.picture.width) + " x " +
                                                 std::to_string(plan.layout.picture.height));
    }
    std::vector<Image> views;
    for (const PictureView& view : plan.views) {
        const Image& source = view.from == kFromPicture ? picture : views[view.from];
        CLASP_ASSIGN_OR_RETURN(Image made, image::apply_fit(source, view.fit));
        views.push_back(std::move(made));
    }
    std::vector<PiecePixels> pieces;
    for (const ImagePiece& piece : plan.pieces) {
        const Image& view = views[piece.view];
        image::PixelPlanes planes;
        if (size_of(view) == piece.size) {
            CLASP_ASSIGN_OR_RETURN(planes, image::normalise(view, normalisation, compat));
        } else {
            CLASP_ASSIGN_OR_RETURN(const Image part, image::crop(view, piece.left, piece.top, piece.size));
            CLASP_ASSIGN_OR_RETURN(planes, image::normalise(part, normalisation, compat));
        }
        pieces.push_back({piece, std::move(planes.values)});
    }
    return pieces;
}

}  // namespace clasp::model
