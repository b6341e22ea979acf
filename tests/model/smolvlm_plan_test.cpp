// SmolVLM's pictures: which tiles, which words between them, and where tokens lie.
#include "model/smolvlm_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace clasp::model {
namespace {

using testing::HasSubstr;

// Tiles of 512 pixels make 64 tokens (256M and 500M), of 384 pixels 81 (2.2B).
constexpr SmolVlmRule kSmall = {.tile_size = 512, .longest_side = 2048};
constexpr SmolVlmRule kLarge = {.tile_size = 384, .longest_side = 1536};
const PieceShape kSmallShape = {.patches = {32, 32}, .n_prefix = 0, .merge = 4};
const PieceShape kLargeShape = {.patches = {27, 27}, .n_prefix = 0, .merge = 3};

VisionPlan plan_of(PixelSize picture, const SmolVlmRule& rule, const PieceShape& shape,
                   Compat compat = Compat::Original) {
    auto plan = smolvlm_plan(picture, rule, shape, {.compat = compat});
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    if (!plan.ok()) return {};
    EXPECT_TRUE(check_vision_plan(*plan).ok()) << check_vision_plan(*plan).message();
    return std::move(plan).value();
}

struct SmolVlmRow {
    PixelSize picture;
    Grid tiles;  // rows and columns; 1 x 1 without tiles
    PixelSize scaled;
    std::size_t n_pieces;
};

TEST(SmolVlmPlan, IsTheAuthorsTable) {
    const std::vector<SmolVlmRow> table = {
        {{640, 480}, {3, 4}, {2048, 1536}, 13}, {{1000, 300}, {2, 4}, {2048, 614}, 9},
        {{640, 640}, {4, 4}, {2048, 2048}, 17}, {{480, 640}, {4, 3}, {1536, 2048}, 13},
        {{300, 1000}, {4, 2}, {614, 2048}, 9},  {{2000, 10}, {1, 4}, {2048, 10}, 5},
        {{1, 65535}, {4, 1}, {1, 2048}, 5},     {{65535, 1}, {1, 4}, {2048, 1}, 5},
        {{1, 1}, {4, 4}, {2048, 2048}, 17},     {{1920, 1080}, {3, 4}, {2048, 1152}, 13}};
    for (const SmolVlmRow& row : table) {
        SCOPED_TRACE(std::to_string(row.picture.width) + " x " + std::to_string(row.picture.height));
        const VisionPlan plan = plan_of(row.picture, kSmall, kSmallShape);
        EXPECT_EQ(smolvlm_sizes(row.picture, kSmall, Compat::Original).scaled, row.scaled);
        EXPECT_EQ(plan.layout.tiles, row.tiles);
        EXPECT_EQ(plan.layout.n_pieces, row.n_pieces);
        EXPECT_EQ(plan.layout.n_tokens(), 64 * row.n_pieces);
        EXPECT_EQ(plan_of(row.picture, kLarge, kLargeShape).layout.n_tokens(), 81 * row.n_pieces);
    }
    EXPECT_EQ(plan_of({640, 480}, kSmall, kSmallShape).layout.n_tokens(), 832U);
    EXPECT_EQ(plan_of({640, 480}, kLarge, kLargeShape).layout.n_tokens(), 1053U);
}

// What the decoder reads between the tokens, tokens as #.
std::string smolvlm_words(const VisionPlan& plan) {
    std::string words;
    for (const ArrangedRun& run : plan.arrangement) {
        words += run.kind == ArrangedRun::Kind::Tokens ? "#" : run.text;
    }
    return words;
}

TEST(SmolVlmPlan, SaysWhereEachTileLies) {
    EXPECT_EQ(smolvlm_words(plan_of({1000, 300}, {512, 1024}, kSmallShape)),
              "<fake_token_around_image><row_1_col_1>#<fake_token_around_image><row_1_col_2>#\n\n"
              "<fake_token_around_image><global-img>#<fake_token_around_image>");
    EXPECT_EQ(smolvlm_words(plan_of({1000, 600}, {512, 1024}, kSmallShape)),
              "<fake_token_around_image><row_1_col_1>#<fake_token_around_image><row_1_col_2>#\n"
              "<fake_token_around_image><row_2_col_1>#<fake_token_around_image><row_2_col_2>#\n\n"
              "<fake_token_around_image><global-img>#<fake_token_around_image>");
    // One tile is the overview alone; llama.cpp shows it twice.
    EXPECT_EQ(smolvlm_words(plan_of({1000, 600}, {512, 512}, kSmallShape)),
              "<fake_token_around_image><global-img>#<fake_token_around_image>");
    EXPECT_EQ(smolvlm_words(plan_of({1000, 600}, {512, 512}, kSmallShape, Compat::LlamaCpp)),
              "<fake_token_around_image><row_1_col_1>#\n\n<fake_token_around_image><global-img>#"
              "<fake_token_around_image>");
}

// The steps of the authors' image processor, one after the other.
std::pair<int, int> authors_tiles(PixelSize picture, int longest, int tile) {
    double width = picture.width;
    double height = picture.height;
    const double aspect = width / height;
    if (width >= height) {
        width = longest;
        height = std::floor(width / aspect);
        if (std::fmod(height, 2.0) != 0.0) height += 1.0;
    } else {
        height = longest;
        width = std::floor(height * aspect);
        if (std::fmod(width, 2.0) != 0.0) width += 1.0;
    }
    width = std::max(width, 1.0);
    height = std::max(height, 1.0);
    const double ratio = width / height;
    if (width >= height) {
        width = std::ceil(width / tile) * tile;
        height = std::ceil(std::floor(width / ratio) / tile) * tile;
    } else {
        height = std::ceil(height / tile) * tile;
        width = std::ceil(std::floor(height * ratio) / tile) * tile;
    }
    return {static_cast<int>(width) / tile, static_cast<int>(height) / tile};
}

TEST(SmolVlmPlan, FollowsTheAuthorsStepsForAnySize) {
    std::mt19937 random(5);
    const auto side = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)) + 1; };
    for (int round = 0; round < 2000; ++round) {
        const PixelSize picture = {side(3000), side(3000)};
        const int tile = 16 * side(24);
        const int longest = std::min(4096, round % 2 == 0 ? tile * side(4) : side(2000));
        SCOPED_TRACE(std::to_string(picture.width) + " x " + std::to_string(picture.height) +
                     " in tiles of " + std::to_string(tile) + ", longest " + std::to_string(longest));
        const auto [columns, rows] = authors_tiles(picture, longest, tile);
        const SmolVlmSizes sizes = smolvlm_sizes(picture, {tile, longest}, Compat::Original);
        EXPECT_EQ(sizes.tiled.width / tile, std::max(columns, 1));
        EXPECT_EQ(sizes.tiled.height / tile, std::max(rows, 1));
    }
}

// Tiles share the picture out among them, and the overview shows all of it.
TEST(SmolVlmPlan, TilesCoverThePicture) {
    for (const PixelSize picture : {PixelSize{640, 480}, {300, 1000}, {77, 33}}) {
        const VisionPlan plan = plan_of(picture, kSmall, kSmallShape);
        double area = 0.0;
        for (std::size_t i = 0; i + 1 < plan.layout.regions.size(); ++i) {
            const TokenRegion& region = plan.layout.regions[i];
            EXPECT_EQ(region.view, plan.layout.regions.front().view);
            EXPECT_GE(region.area.left, -1e-9);
            EXPECT_LE(region.area.left + region.area.width, picture.width + 1e-9);
            EXPECT_LE(region.area.top + region.area.height, picture.height + 1e-9);
            area += region.area.width * region.area.height;
        }
        EXPECT_NEAR(area, static_cast<double>(picture.width) * picture.height, 1e-6);
        const TokenRegion& overview = plan.layout.regions.back();
        EXPECT_NE(overview.view, plan.layout.regions.front().view);
        EXPECT_NEAR(overview.area.width, picture.width, 1e-9);
        EXPECT_NEAR(overview.area.height, picture.height, 1e-9);
    }
    // The second tile of the first row, in pixels of a picture of 4 x 3 tiles.
    const PixelRect second = plan_of({640, 480}, kSmall, kSmallShape).layout.regions[1].area;
    EXPECT_DOUBLE_EQ(second.left, 160.0);
    EXPECT_DOUBLE_EQ(second.width, 160.0);
    EXPECT_DOUBLE_EQ(second.top, 0.0);
    EXPECT_DOUBLE_EQ(second.height, 160.0);
}

TEST(SmolVlmPlan, WithoutALongestSideFourTilesAreMeant) {
    EXPECT_EQ(smolvlm_words(plan_of({640, 480}, {512, 0}, kSmallShape)),
              smolvlm_words(plan_of({640, 480}, kSmall, kSmallShape)));
    // llama.cpp takes the nearest number of tiles, on black.
    const VisionPlan plan = plan_of({1300, 700}, {512, 0}, kSmallShape, Compat::LlamaCpp);
    EXPECT_EQ(plan.layout.tiles, (Grid{1, 3}));
    EXPECT_EQ(plan.layout.resized, (PixelSize{951, 512}));
}

// Fewer tiles: the picture is scaled less.
TEST(SmolVlmPlan, TilesCanBeLimited) {
    EXPECT_EQ(smolvlm_max_tiles(kSmall), 16U);
    const auto tiles = [](PixelSize picture, std::size_t most) {
        const auto plan = smolvlm_plan(picture, kSmall, kSmallShape, {.detail = {.max_tiles = most}});
        EXPECT_TRUE(plan.ok());
        EXPECT_TRUE(check_vision_plan(*plan).ok());
        return std::pair(plan->layout.tiles, plan->layout.n_pieces);
    };
    EXPECT_EQ(tiles({640, 480}, 16), (std::pair{Grid{3, 4}, std::size_t{13}}));
    EXPECT_EQ(tiles({640, 480}, 12), (std::pair{Grid{3, 4}, std::size_t{13}}));
    EXPECT_EQ(tiles({640, 480}, 11), (std::pair{Grid{3, 3}, std::size_t{10}}));
    EXPECT_EQ(tiles({640, 480}, 8), (std::pair{Grid{2, 2}, std::size_t{5}}));
    EXPECT_EQ(tiles({640, 480}, 3), (std::pair{Grid{1, 1}, std::size_t{1}}));
    EXPECT_EQ(tiles({1000, 200}, 4), (std::pair{Grid{1, 4}, std::size_t{5}}));
}

TEST(SmolVlmPlan, RefusesWhatCannotBe) {
    const auto thread = smolvlm_plan({1, 5000}, kSmall, kSmallShape, {.compat = Compat::LlamaCpp});
    ASSERT_FALSE(thread.ok());
    EXPECT_THAT(thread.status().message(),
                HasSubstr("takes no picture of 1 x 5000 pixels here: scaled to a longest side of 2048"));
    const auto many = smolvlm_plan({65535, 65535}, {32, 0}, kSmallShape, {.compat = Compat::LlamaCpp});
    ASSERT_FALSE(many.ok());
    EXPECT_THAT(many.status().message(), HasSubstr("tokens; the limit is 16384"));
}

}  // namespace
}  // namespace clasp::model
