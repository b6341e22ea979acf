// InternVL's pictures: which grid of tiles, as its authors choose it and as llama.cpp does.
#include "model/tile_grid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace clasp::model {
namespace {

constexpr int kTile = 448;
const PieceShape kPiece = {.patches = {32, 32}, .n_prefix = 1, .merge = 2};
constexpr std::size_t kTileTokens = 256;

VisionPlan tiles_of(PixelSize picture, const TileRange& range, Compat compat = Compat::Original) {
    auto plan = tile_grid_plan(picture, range, kTile, kPiece, compat);
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_TRUE(check_vision_plan(*plan).ok()) << check_vision_plan(*plan).message();
    return std::move(plan).value();
}

std::string size_name(PixelSize size) {
    return std::to_string(size.width) + " x " + std::to_string(size.height);
}

struct TileRow {
    PixelSize picture;
    PixelSize twelve;  // columns and rows with at most so many tiles
    std::size_t twelve_tokens;
    PixelSize six;
    std::size_t six_tokens;
    PixelSize llama_cpp;
    std::size_t llama_cpp_tokens;
};

const std::vector<TileRow> kTiles = {
    {{448, 448}, {1, 1}, 256, {1, 1}, 256, {1, 1}, 256},
    {{320, 240}, {4, 3}, 3328, {3, 2}, 1792, {1, 1}, 256},
    {{640, 480}, {4, 3}, 3328, {3, 2}, 1792, {2, 2}, 1280},
    {{640, 488}, {4, 3}, 3328, {3, 2}, 1792, {2, 2}, 1280},
    {{1000, 300}, {3, 1}, 1024, {3, 1}, 1024, {3, 1}, 1024},
    {{1024, 768}, {4, 3}, 3328, {3, 2}, 1792, {3, 2}, 1792},
    {{1920, 1080}, {4, 2}, 2304, {2, 1}, 768, {4, 3}, 3328},
    {{800, 800}, {2, 2}, 1280, {2, 2}, 1280, {2, 2}, 1280},
    {{633, 633}, {1, 1}, 256, {1, 1}, 256, {2, 2}, 1280},
    {{634, 634}, {2, 2}, 1280, {2, 2}, 1280, {2, 2}, 1280},
};

TEST(TileGrid, IsTheAuthorsTable) {
    const auto expect = [](const VisionPlan& plan, PixelSize tiles, std::size_t tokens) {
        EXPECT_EQ(plan.layout.tiles,
                  (Grid{static_cast<std::size_t>(tiles.height), static_cast<std::size_t>(tiles.width)}));
        EXPECT_EQ(plan.layout.n_tokens(), tokens);
        EXPECT_EQ(plan.layout.n_pieces, tokens / kTileTokens);
    };
    for (const TileRow& row : kTiles) {
        SCOPED_TRACE(size_name(row.picture));
        expect(tiles_of(row.picture, {1, 12}), row.twelve, row.twelve_tokens);
        expect(tiles_of(row.picture, {1, 6}), row.six, row.six_tokens);
        expect(tiles_of(row.picture, {1, 12}, Compat::LlamaCpp), row.llama_cpp, row.llama_cpp_tokens);
    }
}

TEST(TileGrid, StretchesThePictureAndShowsItOnceMoreLast) {
    const VisionPlan plan = tiles_of({640, 480}, {1, 12});
    ASSERT_EQ(plan.views.size(), 2U);
    EXPECT_EQ(plan.views[0].fit.size(), (PixelSize{4 * kTile, 3 * kTile}));
    EXPECT_EQ(plan.views[1].fit.size(), (PixelSize{kTile, kTile}));
    for (const PictureView& view : plan.views) {
        EXPECT_EQ(view.fit.before.size, PixelSize{});
        EXPECT_EQ(view.fit.after.size, PixelSize{});
        EXPECT_EQ(view.from, kFromPicture);
    }
    ASSERT_EQ(plan.layout.regions.size(), 13U);
    for (std::size_t tile = 0; tile < 12; ++tile) {
        const PixelRect& area = plan.layout.regions[tile].area;
        EXPECT_DOUBLE_EQ(area.left, static_cast<double>(tile % 4) * 160.0);
        EXPECT_DOUBLE_EQ(area.top, static_cast<double>(tile / 4) * 160.0);
        EXPECT_DOUBLE_EQ(area.width, 160.0);
        EXPECT_DOUBLE_EQ(area.height, 160.0);
        EXPECT_EQ(plan.layout.regions[tile].view, 0U);
        EXPECT_EQ(plan.arrangement[tile].piece, tile);
    }
    const TokenRegion& thumbnail = plan.layout.regions.back();
    EXPECT_DOUBLE_EQ(thumbnail.area.width, 640.0);
    EXPECT_DOUBLE_EQ(thumbnail.area.height, 480.0);
    EXPECT_EQ(thumbnail.view, 1U);
    EXPECT_EQ(plan.layout.grid, (Grid{48, 64}));
    EXPECT_EQ(plan.layout.resized, (PixelSize{4 * kTile, 3 * kTile}));
}

TEST(TileGrid, EveryGridOfTheRangeIsACandidateOnce) {
    for (const TileRange range : {TileRange{1, 1}, {1, 6}, {1, 12}, {3, 7}, {12, 12}, {2, 40}}) {
        const std::vector<Grid> grids = tile_grids(range);
        std::size_t n = 0;
        for (std::size_t i = 1; i <= range.max; ++i) {
            for (std::size_t j = 1; j <= range.max; ++j) {
                if (i * j < range.min || i * j > range.max) continue;
                ++n;
                EXPECT_EQ(std::count(grids.begin(), grids.end(), Grid{i, j}), 1);
            }
        }
        EXPECT_EQ(grids.size(), n);
        EXPECT_TRUE(std::is_sorted(grids.begin(), grids.end(), [](const Grid& a, const Grid& b) {
            return a.height * a.width < b.height * b.width;
        }));
    }
}

// No grid of the range has a shape that is nearer, and of those that are equally near the choice is the
// largest that the picture fills by more than half, or else the smallest.
TEST(TileGrid, NoOtherGridIsNearer) {
    std::mt19937 random(11);
    for (int round = 0; round < 3000; ++round) {
        const std::size_t max = 1 + random() % 24;
        const TileRange range = {1, max};
        const PixelSize picture = {1 + static_cast<int>(random() % 3000),
                                   1 + static_cast<int>(random() % 3000)};
        SCOPED_TRACE(size_name(picture) + " in " + std::to_string(max));
        const Grid chosen = choose_tile_grid(picture, range, kTile);
        const auto distance = [&](const Grid& grid) {
            return std::abs(static_cast<double>(picture.width) / picture.height -
                            static_cast<double>(grid.width) / static_cast<double>(grid.height));
        };
        const double area = static_cast<double>(picture.width) * picture.height;
        const auto is_filled = [&](const Grid& grid) {
            return area > 0.5 * kTile * kTile * static_cast<double>(grid.width * grid.height);
        };
        for (const Grid& grid : tile_grids(range)) {
            ASSERT_GE(distance(grid), distance(chosen));
            if (distance(grid) > distance(chosen) || grid == chosen) continue;
            if (grid.height * grid.width > chosen.height * chosen.width) {
                ASSERT_FALSE(is_filled(grid));
            } else {
                ASSERT_TRUE(is_filled(chosen));
            }
        }
    }
}

TEST(TileGrid, TransposedPicturesHaveTransposedTiles) {
    for (const auto& [picture, tiles] : {std::pair{PixelSize{300, 1000}, Grid{3, 1}},
                                         {{1000, 300}, {1, 3}},
                                         {{1, 65535}, {12, 1}},
                                         {{65535, 1}, {1, 12}},
                                         {{1, 1}, {1, 1}}}) {
        EXPECT_EQ(choose_tile_grid(picture, {1, 12}, kTile), tiles) << size_name(picture);
    }
}

TEST(TileGrid, ARangeThatBeginsAboveOneHasNoWholePicture) {
    const VisionPlan plan = tiles_of({448, 448}, {2, 4});
    EXPECT_EQ(plan.layout.tiles, (Grid{2, 2}));
    EXPECT_EQ(plan.layout.n_pieces, 5U);
    // llama.cpp wants as many columns, and rows, as the least number of tiles.
    EXPECT_EQ(llama_cpp_tile_sizes({2, 4}, kTile), (std::vector<PixelSize>{{2 * kTile, 2 * kTile}}));
    const auto none = tile_grid_plan({900, 900}, {3, 4}, kTile, kPiece, Compat::LlamaCpp);
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.status().message(), "llama.cpp has no grid of 3 to 4 tiles");
}

}  // namespace
}  // namespace clasp::model
