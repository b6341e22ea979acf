#include "model/tile_grid.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "image/preprocess.h"
#include "model/tiled_plan.h"

namespace clasp::model {

namespace {

PixelSize grid_pixels(const Grid& grid, int tile_size) {
    return {static_cast<int>(grid.width) * tile_size, static_cast<int>(grid.height) * tile_size};
}

// A view that is stretched over a grid of tiles, its pieces and their tokens.
void add_stretched_tiles(VisionPlan& plan, const Grid& grid, int tile_size, const PieceShape& shape) {
    const std::size_t view = plan.views.size();
    plan.views.push_back({.fit = image::stretch_fit(grid_pixels(grid, tile_size), image::Filter::Bicubic)});
    for (std::size_t row = 0; row < grid.height; ++row) {
        for (std::size_t column = 0; column < grid.width; ++column) {
            const std::size_t piece = plan.pieces.size();
            plan.pieces.push_back({.view = view,
                                   .left = static_cast<int>(column) * tile_size,
                                   .top = static_cast<int>(row) * tile_size,
                                   .size = {tile_size, tile_size},
                                   .shape = shape});
            plan.arrangement.push_back(
                {.kind = ArrangedRun::Kind::Tokens, .piece = piece, .first = 0, .count = shape.n_tokens()});
            plan.layout.regions.push_back(
                {.grid = shape.tokens(), .area = area_of(plan, plan.pieces[piece]), .view = view});
        }
    }
}

}  // namespace

std::vector<Grid> tile_grids(const TileRange& range) {
    std::vector<Grid> grids;
    for (std::size_t columns = 1; columns <= range.max; ++columns) {
        for (std::size_t rows = 1; rows * columns <= range.max; ++rows) {
            if (rows * columns >= range.min) grids.push_back({.height = rows, .width = columns});
        }
    }
    std::stable_sort(grids.begin(), grids.end(),
                     [](const Grid& a, const Grid& b) { return a.height * a.width < b.height * b.width; });
    return grids;
}

Grid choose_tile_grid(PixelSize picture, const TileRange& range, int tile_size) {
    const double shape = static_cast<double>(picture.width) / picture.height;
    const double n_pixels = static_cast<double>(picture.width) * picture.height;
    Grid best = {1, 1};
    double least = std::numeric_limits<double>::infinity();
    for (const Grid& grid : tile_grids(range)) {
        const auto columns = static_cast<double>(grid.width);
        const auto rows = static_cast<double>(grid.height);
        const double distance = std::abs(shape - columns / rows);
        const double half_pixels = 0.5 * tile_size * tile_size * columns * rows;
        if (distance > least || (distance == least && n_pixels <= half_pixels)) continue;
        least = distance;
        best = grid;
    }
    return best;
}

std::vector<PixelSize> llama_cpp_tile_sizes(const TileRange& range, int tile_size) {
    std::vector<PixelSize> sizes;
    for (std::size_t columns = range.min; columns <= range.max; ++columns) {
        for (std::size_t rows = range.min; rows * columns <= range.max; ++rows) {
            sizes.push_back(grid_pixels({.height = rows, .width = columns}, tile_size));
        }
    }
    return sizes;
}

Result<VisionPlan> tile_grid_plan(PixelSize picture, const TileRange& range, int tile_size,
                                  const PieceShape& shape, Compat compat) {
    if (compat == Compat::LlamaCpp) {
        TileRule rule = {.resolutions = llama_cpp_tile_sizes(range, tile_size),
                         .tile_size = tile_size,
                         .patches_per_side = shape.tokens().width,
                         .merge = TileMerge::Flat};
        if (rule.resolutions.empty()) {
            return Status(Code::Unsupported, "llama.cpp has no grid of " + std::to_string(range.min) +
                                                 " to " + std::to_string(range.max) + " tiles");
        }
        return tiled_plan(picture, rule, shape, compat);
    }
    VisionPlan plan;
    const Grid tiles = choose_tile_grid(picture, range, tile_size);
    plan.layout.picture = picture;
    plan.layout.tiles = tiles;
    plan.layout.resized = grid_pixels(tiles, tile_size);
    plan.layout.grid = {shape.tokens().height * tiles.height, shape.tokens().width * tiles.width};
    add_stretched_tiles(plan, tiles, tile_size, shape);
    if (tiles.height * tiles.width > 1) add_stretched_tiles(plan, {1, 1}, tile_size, shape);
    plan.layout.n_pieces = plan.pieces.size();
    return plan;
}

}  // namespace clasp::model
