#include "engine/tile_parts.h"

#include <algorithm>

namespace clasp::engine {

namespace {

// The piece that has a view of its own while all the others share one. With a single tile both have: then it
// is the first one, as towers plan it.
std::optional<std::size_t> find_overview(const std::vector<model::ImagePiece>& pieces) {
    for (const std::size_t candidate : {std::size_t{0}, pieces.size() - 1}) {
        const std::size_t other = pieces[candidate == 0 ? 1 : 0].view;
        const auto n_others =
            std::count_if(pieces.begin(), pieces.end(),
                          [&](const model::ImagePiece& piece) { return piece.view == other; });
        if (pieces[candidate].view != other && static_cast<std::size_t>(n_others) + 1 == pieces.size())
            return candidate;
    }
    return std::nullopt;
}

}  // namespace

std::optional<OwnedTileParts> tile_parts(const model::VisionPlan& plan) {
    if (plan.pieces.size() < 2 || plan.layout.n_steps > 1) return std::nullopt;
    const std::optional<std::size_t> overview = find_overview(plan.pieces);
    if (!overview) return std::nullopt;
    const model::PieceShape& shape = plan.pieces[*overview].shape;
    if (shape.merge > 1 || shape.n_class_tokens() > 0) return std::nullopt;
    OwnedTileParts parts = {plan.layout.tiles, shape.patches, {}};
    for (const model::TokenCell& token : model::token_cells(plan)) {
        if (token.piece == model::kFixedRow) return std::nullopt;
        if (token.piece == *overview) {
            parts.tile_of.push_back(methods::TileParts::kOverview);
            continue;
        }
        // Tiles that are all padding are no pieces, so the place says which one it is.
        const model::ImagePiece& piece = plan.pieces[token.piece];
        const auto row = static_cast<std::size_t>(piece.top / piece.size.height);
        const auto column = static_cast<std::size_t>(piece.left / piece.size.width);
        if (row >= parts.tiles.height || column >= parts.tiles.width) return std::nullopt;
        parts.tile_of.push_back(row * parts.tiles.width + column);
    }
    return parts;
}

}  // namespace clasp::engine
