#include "model/tiled_plan.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/text.h"

namespace clasp::model {

namespace {

constexpr std::size_t kOverviewView = 0;
constexpr std::size_t kTileView = 1;

std::int64_t n_pixels(PixelSize size) {
    return static_cast<std::int64_t>(size.width) * size.height;
}

// The size of a picture scaled into a resolution, rounded down.
template <typename Float>
std::int64_t scaled_area(PixelSize picture, PixelSize resolution) {
    const auto width = static_cast<Float>(picture.width);
    const auto height = static_cast<Float>(picture.height);
    const Float scale = std::min(static_cast<Float>(resolution.width) / width,
                                 static_cast<Float>(resolution.height) / height);
    return n_pixels({static_cast<int>(width * scale), static_cast<int>(height * scale)});
}

void add_tokens(VisionPlan& plan, std::size_t piece, std::size_t first, std::size_t count) {
    plan.arrangement.push_back(
        {.kind = ArrangedRun::Kind::Tokens, .piece = piece, .first = first, .count = count});
}

// All tokens of a piece.
void add_whole_piece(VisionPlan& plan, std::size_t piece) {
    const ImagePiece& shown = plan.pieces[piece];
    add_tokens(plan, piece, 0, shown.shape.n_tokens());
    plan.layout.regions.push_back(
        {.grid = shown.shape.tokens(), .area = area_of(plan, shown), .view = shown.view});
}

// The view of the overview and its piece; not its tokens.
void add_overview(VisionPlan& plan, const TileRule& rule, const PieceShape& shape) {
    const PixelSize size = {rule.tile_size, rule.tile_size};
    plan.views.push_back({.fit = image::stretch_fit(size, image::Filter::Bicubic)});
    plan.pieces.push_back({.view = kOverviewView, .size = size, .shape = shape});
    plan.layout.resized = size;
    plan.layout.grid = shape.tokens();
}

// The view of the tiles and its pieces; not their tokens.
void add_tiles(VisionPlan& plan, const TileRule& rule, const PieceShape& shape, PixelSize resolution,
               Compat compat) {
    const image::Fit fit = image::padded_fit(plan.layout.picture, resolution, plan.layout.pad_colour,
                                             image::Filter::Bicubic, compat);
    plan.views.push_back({.fit = fit});
    const PixelSize size = {rule.tile_size, rule.tile_size};
    for (int top = 0; top < resolution.height; top += rule.tile_size) {
        for (int left = 0; left < resolution.width; left += rule.tile_size) {
            plan.pieces.push_back(
                {.view = kTileView, .left = left, .top = top, .size = size, .shape = shape});
        }
    }
    plan.layout.resized = fit.resized;
    plan.layout.tiles = {static_cast<std::size_t>(resolution.height / rule.tile_size),
                         static_cast<std::size_t>(resolution.width / rule.tile_size)};
}

void arrange_tile_by_tile(VisionPlan& plan) {
    for (std::size_t piece = 1; piece < plan.pieces.size(); ++piece) add_whole_piece(plan, piece);
}

// The patches of `part`, a rectangle of the grid of all tiles, row by row.
void arrange_rows(VisionPlan& plan, std::size_t side, const PatchRect& part, bool has_newlines,
                  bool newlines_are_tokens) {
    // Without patches there is nothing for a line break to be one of.
    const bool has_breaks = newlines_are_tokens && part.size.width > 0;
    const std::size_t n_overview = plan.pieces[0].shape.n_tokens();
    const std::size_t right = part.left + part.size.width;
    for (std::size_t row = 0; row < part.size.height; ++row) {
        const std::size_t y = part.top + row;
        for (std::size_t x = part.left; x < right;) {
            const std::size_t tile = x / side;
            const std::size_t end = std::min((tile + 1) * side, right);
            add_tokens(plan, 1 + y / side * plan.layout.tiles.width + tile, y % side * side + x % side,
                       end - x);
            x = end;
        }
        if (!has_newlines) continue;
        if (has_breaks) {
            plan.arrangement.push_back({.kind = ArrangedRun::Kind::Fixed, .fixed = 0, .is_token = true});
            continue;
        }
        plan.arrangement.push_back({.kind = ArrangedRun::Kind::Fixed,
                                    .fixed = 0,
                                    .first_token = n_overview + row * part.size.width,
                                    .n_tokens = part.size.width});
        ++plan.layout.n_fixed;
    }
    if (part.size.height * part.size.width == 0) return;
    const double patch =
        static_cast<double>(plan.pieces[0].size.width) / static_cast<double>(side);  // in pixels
    const PixelRect pixels = {static_cast<double>(part.left) * patch, static_cast<double>(part.top) * patch,
                              static_cast<double>(part.size.width) * patch,
                              static_cast<double>(part.size.height) * patch};
    plan.layout.regions.push_back({.grid = part.size,
                                   .area = area_of(plan, kTileView, pixels),
                                   .view = kTileView,
                                   .has_breaks = has_newlines && has_breaks});
}

// Tiles of which no patch is a token, since all are padding, need not be encoded.
void drop_unused_pieces(VisionPlan& plan) {
    std::vector<bool> is_used(plan.pieces.size());
    for (const ArrangedRun& run : plan.arrangement) {
        if (run.kind == ArrangedRun::Kind::Tokens) is_used[run.piece] = true;
    }
    std::vector<ImagePiece> used;
    std::vector<std::size_t> number(plan.pieces.size());
    for (std::size_t i = 0; i < plan.pieces.size(); ++i) {
        number[i] = used.size();
        if (is_used[i]) used.push_back(plan.pieces[i]);
    }
    for (ArrangedRun& run : plan.arrangement) {
        if (run.kind == ArrangedRun::Kind::Tokens) run.piece = number[run.piece];
    }
    plan.pieces = std::move(used);
}

}  // namespace

std::string_view tile_merge_name(TileMerge merge) {
    switch (merge) {
        case TileMerge::Flat: return "flat";
        case TileMerge::Spatial: return "spatial";
        case TileMerge::SpatialUnpad: return "spatial_unpad";
    }
    return "";
}

Result<TileMerge> parse_tile_merge(std::string_view name) {
    std::string known;
    for (const TileMerge merge : kAllTileMerges) {
        if (tile_merge_name(merge) == name) return merge;
        known += (known.empty() ? "" : ", ") + std::string(tile_merge_name(merge));
    }
    return Status(Code::Unsupported, base::in_quotes(name) + "; supported are: " + known);
}

PixelSize choose_resolution(PixelSize picture, std::span<const PixelSize> resolutions, Compat compat) {
    PixelSize best = resolutions.front();
    std::int64_t most_shown = -1;
    std::int64_t least_waste = std::numeric_limits<std::int64_t>::max();
    for (const PixelSize resolution : resolutions) {
        const std::int64_t scaled = compat == Compat::Original ? scaled_area<double>(picture, resolution)
                                                               : scaled_area<float>(picture, resolution);
        const std::int64_t shown = std::min(scaled, n_pixels(picture));
        const std::int64_t waste = n_pixels(resolution) - shown;
        if (shown < most_shown || (shown == most_shown && waste >= least_waste)) continue;
        best = resolution;
        most_shown = shown;
        least_waste = waste;
    }
    return best;
}

PatchRect unpadded(PixelSize picture, const Grid& grid) {
    const auto width = static_cast<double>(picture.width);
    const auto height = static_cast<double>(picture.height);
    const auto columns = static_cast<double>(grid.width);
    const auto rows = static_cast<double>(grid.height);
    if (width / height > columns / rows) {
        const auto shown = static_cast<std::size_t>(height * (columns / width));
        const std::size_t padding = (grid.height - shown) / 2;
        return {.left = 0, .top = padding, .size = {grid.height - 2 * padding, grid.width}};
    }
    const auto shown = static_cast<std::size_t>(width * (rows / height));
    const std::size_t padding = (grid.width - shown) / 2;
    return {.left = padding, .top = 0, .size = {grid.height, grid.width - 2 * padding}};
}

VisionPlan tiled_plan(PixelSize picture, const TileRule& rule, const PieceShape& shape, Compat compat) {
    VisionPlan plan;
    plan.layout.picture = picture;
    add_overview(plan, rule, shape);
    const bool is_original = compat == Compat::Original;
    if (is_original) add_whole_piece(plan, 0);
    if (is_original || picture.width > rule.tile_size || picture.height > rule.tile_size) {
        add_tiles(plan, rule, shape, choose_resolution(picture, rule.resolutions, compat), compat);
        const std::size_t side = rule.patches_per_side;
        const Grid all = {plan.layout.tiles.height * side, plan.layout.tiles.width * side};
        plan.layout.grid = all;
        if (!is_original || rule.merge == TileMerge::Flat) {
            arrange_tile_by_tile(plan);
        } else if (rule.merge == TileMerge::Spatial) {
            arrange_rows(plan, side, {.left = 0, .top = 0, .size = all}, false, false);
        } else {
            const PatchRect part = unpadded(picture, all);
            arrange_rows(plan, side, part, true, rule.newlines_are_tokens);
            plan.layout.grid = part.size.height * part.size.width > 0 ? part.size : shape.tokens();
            drop_unused_pieces(plan);
        }
    }
    if (!is_original) add_whole_piece(plan, 0);
    plan.layout.n_pieces = plan.pieces.size();
    return plan;
}

}  // namespace clasp::model
