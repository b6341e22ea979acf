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
        if (plan.views[i].is_plain && from != kFromPicture) return wrong("a plain view is made from another");
    }
    if (plan.pieces_at_once == 0 || plan.pieces.size() % plan.pieces_at_once != 0) {
        return wrong("its pieces make no whole groups");
    }
    for (std::size_t i = 0; i < plan.pieces.size(); ++i) {
        const ImagePiece& first = plan.pieces[i / plan.pieces_at_once * plan.pieces_at_once];
        if (plan.pieces[i].size != first.size || plan.pieces[i].shape != first.shape ||
            plan.pieces[i].is_pair() != first.is_pair()) {
            return wrong("pieces of a group differ");
        }
    }
    for (const ImagePiece& piece : plan.pieces) {
        if (piece.view >= plan.views.size()) return wrong("a piece has no view");
        const PixelSize view = plan.views[piece.view].fit.size();
        if (piece.is_pair() &&
            (piece.second_view >= plan.views.size() || plan.views[piece.second_view].fit.size() != view)) {
            return wrong("the two views of a piece are not of one size");
        }
        if (piece.is_pair() && plan.views[piece.view].is_plain) return wrong("plain views make a pair");
        const PieceShape& shape = piece.shape;
        if (piece.left < 0 || piece.top < 0 || piece.size.width < 1 || piece.size.height < 1 ||
            piece.size.width > view.width - piece.left || piece.size.height > view.height - piece.top) {
            return wrong("a piece is not inside its view");
        }
        if (shape.n_prefix > 1 || shape.merge == 0 || shape.n_tokens() == 0 ||
            shape.patches.height % shape.merge != 0 || shape.patches.width % shape.merge != 0 ||
            (shape.projects_prefix && shape.merge > 1)) {
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
        }
        n_tokens += run.own_tokens();
        if (run.kind == ArrangedRun::Kind::Fixed && !run.is_token) {
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
    if (!plan.times.empty() && plan.times.size() != plan.layout.regions.size()) {
        return wrong("its regions have no times");
    }
    return ok_status();
}

}  // namespace

std::vector<TokenCell> token_cells(const VisionPlan& plan) {
    std::vector<TokenCell> cells;
    for (const ArrangedRun& run : plan.arrangement) {
        if (run.kind == ArrangedRun::Kind::Tokens) {
            for (std::size_t i = 0; i < run.count; ++i) cells.push_back({run.piece, run.first + i});
        } else if (run.own_tokens() > 0) {
            cells.push_back({kFixedRow, run.fixed});
        }
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

Status PieceRenderer::add(const Image& picture, std::size_t frame) {
    if (size_of(picture) != plan_.layout.picture) {
        return {Code::InvalidArgument, "the picture has " + std::to_string(picture.width) + " x " +
                                           std::to_string(picture.height) + " pixels, but the plan is for " +
                                           std::to_string(plan_.layout.picture.width) + " x " +
                                           std::to_string(plan_.layout.picture.height)};
    }
    for (std::size_t i = 0; i < plan_.views.size(); ++i) {
        const PictureView& view = plan_.views[i];
        if (view.frame != frame) continue;
        if (view.is_plain) {
            CLASP_RETURN_IF_ERROR(add_plain(picture, i));
            continue;
        }
        const Image& source = view.from == kFromPicture ? picture : views_[view.from];
        CLASP_ASSIGN_OR_RETURN(views_[i], image::apply_fit(source, view.fit));
    }
    return ok_status();
}

Status PieceRenderer::add_plain(const Image& picture, std::size_t view) {
    for (std::size_t i = 0; i < planes_.size(); ++i) {
        const ImagePiece& piece = plan_.pieces[i];
        if (piece.view != view) continue;
        CLASP_ASSIGN_OR_RETURN(planes_[i], image::resize_plain(picture, plan_.views[view].fit.resized,
                                                               piece.left, piece.top, piece.size));
    }
    return ok_status();
}

Result<std::vector<PiecePixels>> PieceRenderer::finish(const PixelValues& values,
                                                       const PlaneValues& plain_values) const {
    const Status not_given(Code::InvalidArgument, "a frame that the plan names was not given");
    std::vector<PiecePixels> pieces;
    for (std::size_t i = 0; i < plan_.pieces.size(); ++i) {
        const ImagePiece& piece = plan_.pieces[i];
        PiecePixels pixels = {piece, {}};
        if (plan_.views[piece.view].is_plain) {
            if (planes_[i].values.empty()) return not_given;
            CLASP_ASSIGN_OR_RETURN(pixels.values, plain_values(planes_[i]));
            pieces.push_back(std::move(pixels));
            continue;
        }
        for (const std::size_t number : {piece.view, piece.second_view}) {
            if (number == kNoView) continue;
            const Image& view = views_[number];
            if (size_of(view) != plan_.views[number].fit.size()) return not_given;
            std::vector<float> planes;
            if (size_of(view) == piece.size) {
                CLASP_ASSIGN_OR_RETURN(planes, values(view));
            } else {
                CLASP_ASSIGN_OR_RETURN(const Image part,
                                       image::crop(view, piece.left, piece.top, piece.size));
                CLASP_ASSIGN_OR_RETURN(planes, values(part));
            }
            if (pixels.values.empty()) {
                pixels.values = std::move(planes);
            } else {
                pixels.values.insert(pixels.values.end(), planes.begin(), planes.end());
            }
        }
        pieces.push_back(std::move(pixels));
    }
    return pieces;
}

Result<std::vector<PiecePixels>> render_pieces(const Image& picture, const VisionPlan& plan,
                                               const image::Normalisation& normalisation, Compat compat) {
    PieceRenderer renderer(plan);
    CLASP_RETURN_IF_ERROR(renderer.add(picture, 0));
    return renderer.finish(
        [&](const Image& part) -> Result<std::vector<float>> {
            CLASP_ASSIGN_OR_RETURN(image::PixelPlanes planes, image::normalise(part, normalisation, compat));
            return std::move(planes.values);
        },
        [&](const image::PixelPlanes& part) -> Result<std::vector<float>> {
            return image::normalise(part, normalisation);
        });
}

}  // namespace clasp::model
