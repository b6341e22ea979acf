#include "model/clip_plan.h"

#include <algorithm>

namespace clasp::model {

VisionPlan frames_plan(const ClipFrames& clip, const VisionPlan& frame,
                       const std::function<std::string(std::size_t frame)>& between) {
    VisionPlan plan;
    plan.layout = frame.layout;
    plan.layout.regions.clear();
    plan.layout.n_steps = clip.n();
    plan.layout.n_pieces = clip.n() * frame.layout.n_pieces;
    plan.layout.n_fixed = clip.n() * frame.layout.n_fixed;
    const std::size_t n_tokens = frame.layout.n_tokens();
    for (std::size_t i = 0; i < clip.n(); ++i) {
        const std::size_t first_view = plan.views.size();
        const std::size_t first_piece = plan.pieces.size();
        for (PictureView view : frame.views) {
            if (view.from != kFromPicture) view.from += first_view;
            view.frame = i;
            plan.views.push_back(view);
        }
        for (ImagePiece piece : frame.pieces) {
            piece.view += first_view;
            plan.pieces.push_back(piece);
        }
        for (TokenRegion region : frame.layout.regions) {
            region.view += first_view;
            region.step = i;
            plan.layout.regions.push_back(region);
        }
        std::string text = between(i);
        for (ArrangedRun run : frame.arrangement) {
            // Text beside text is one text, as it was in training.
            if (run.kind == ArrangedRun::Kind::Text && !text.empty()) {
                run.text.insert(0, text);
                text.clear();
            }
            if (!text.empty()) {
                plan.arrangement.push_back({.kind = ArrangedRun::Kind::Text, .text = text});
                text.clear();
            }
            if (run.kind == ArrangedRun::Kind::Text && !plan.arrangement.empty() &&
                plan.arrangement.back().kind == ArrangedRun::Kind::Text) {
                plan.arrangement.back().text += run.text;
                continue;
            }
            run.piece += first_piece;
            run.first_token += i * n_tokens;
            plan.arrangement.push_back(run);
        }
    }
    return plan;
}

VisionPlan pairs_plan(const ClipFrames& clip, const image::Fit& fit, const PieceShape& shape) {
    const VisionPlan one = single_piece_plan(clip.size, fit, shape);
    VisionPlan plan;
    plan.layout = one.layout;
    plan.layout.regions.clear();
    const std::size_t n_steps = (clip.n() + 1) / 2;
    plan.layout.n_steps = plan.layout.n_pieces = n_steps;
    for (std::size_t i = 0; i < clip.n(); ++i) {
        plan.views.push_back({.from = kFromPicture, .fit = fit, .frame = i});
    }
    for (std::size_t step = 0; step < n_steps; ++step) {
        ImagePiece piece = one.pieces.front();
        piece.view = 2 * step;
        piece.second_view = std::min(2 * step + 1, clip.n() - 1);
        plan.pieces.push_back(piece);
        TokenRegion region = one.layout.regions.front();
        region.view = region.step = step;
        plan.layout.regions.push_back(region);
        plan.arrangement.push_back(
            {.kind = ArrangedRun::Kind::Tokens, .piece = step, .first = 0, .count = shape.n_tokens()});
    }
    return plan;
}

}  // namespace clasp::model
