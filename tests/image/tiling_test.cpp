#include "image/tiling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "image/test_images.h"

namespace clasp::image {

namespace {

const std::vector<Size> kLlavaNext = {{336, 672}, {672, 336}, {672, 672}, {1008, 336}, {336, 1008}};

Size resolution(Size picture) {
    const auto chosen = choose_resolution(picture, kLlavaNext, Arithmetic::Original);
    EXPECT_TRUE(chosen.ok());
    const auto same = choose_resolution(picture, kLlavaNext, Arithmetic::LlamaCpp);
    EXPECT_EQ(*chosen, *same);
    return *chosen;
}

// Worked by hand from the rule: most pixels kept, then least wasted.
TEST(ChooseResolution, FollowsTheShapeOfThePicture) {
    EXPECT_EQ(resolution({640, 488}), (Size{672, 672}));
    EXPECT_EQ(resolution({1000, 300}), (Size{1008, 336}));
    EXPECT_EQ(resolution({300, 1000}), (Size{336, 1008}));
    EXPECT_EQ(resolution({600, 300}), (Size{672, 336}));
    EXPECT_EQ(resolution({336, 336}), (Size{336, 672}));  // kept in all of them: the first that wastes least
    EXPECT_EQ(resolution({2000, 2000}), (Size{672, 672}));
}

TEST(ChooseResolution, NeedsCandidatesAndSizes) {
    EXPECT_EQ(choose_resolution({3, 3}, {}, Arithmetic::Original).status().code(), Code::InvalidArgument);
    EXPECT_EQ(choose_resolution({0, 3}, kLlavaNext, Arithmetic::Original).status().code(),
              Code::InvalidArgument);
    const std::vector<Size> bad = {{0, 336}};
    EXPECT_EQ(choose_resolution({3, 3}, bad, Arithmetic::Original).status().code(), Code::InvalidArgument);
}

TEST(ChooseTileGrid, TakesTheNearestAspectThenTheLargerGridIfItIsFilled) {
    const TileRange range;
    EXPECT_EQ(*choose_tile_grid({448, 448}, range), (Size{1, 1}));
    EXPECT_EQ(*choose_tile_grid({1920, 1080}, range),
              (Size{4, 2}));  // nearest to 2, and large enough for eight tiles
    EXPECT_EQ(*choose_tile_grid({3000, 3000}, range), (Size{3, 3}));
    EXPECT_EQ(*choose_tile_grid({800, 800}, range), (Size{2, 2}));  // more than half of 896 x 896
    EXPECT_EQ(*choose_tile_grid({630, 630}, range), (Size{1, 1}));  // less than half of it
    EXPECT_EQ(*choose_tile_grid({10000, 100}, range), (Size{12, 1}));
    EXPECT_EQ(*choose_tile_grid({800, 1200}, range), (Size{2, 3}));
}

TEST(ChooseTileGrid, StaysWithinTheRange) {
    for (int max_tiles = 1; max_tiles <= 12; ++max_tiles) {
        for (int width = 10; width < 2000; width += 133) {
            const auto grid = choose_tile_grid({width, 700}, {1, max_tiles, 448});
            ASSERT_TRUE(grid.ok());
            EXPECT_LE(grid->width * grid->height, max_tiles);
        }
    }
    EXPECT_EQ(choose_tile_grid({5, 5}, {0, 3, 448}).status().code(), Code::InvalidArgument);
    EXPECT_EQ(choose_tile_grid({5, 5}, {4, 3, 448}).status().code(), Code::InvalidArgument);
    EXPECT_EQ(choose_tile_grid({5, 5}, {1, 3, 0}).status().code(), Code::InvalidArgument);
}

TEST(TileCandidates, ListsEveryGridOfTheRange) {
    const auto candidates = tile_candidates({1, 12, 448});
    ASSERT_TRUE(candidates.ok());
    EXPECT_EQ(candidates->size(), 35U);  // the sum of floor(12 / a) over a = 1..12
    EXPECT_EQ(candidates->front(), (Size{448, 448}));
    for (const Size size : *candidates) EXPECT_LE(size.width / 448 * (size.height / 448), 12);
}

// Values of the published smart_resize for these inputs, worked by hand.
TEST(ChoosePixelSize, RoundsToTheFactorAndBoundsTheArea) {
    const PixelRange range{28, 4 * 784, 1280 * 784};
    const auto size = [&](Size picture) { return *choose_pixel_size(picture, range, Arithmetic::Original); };
    EXPECT_EQ(size({280, 280}), (Size{280, 280}));
    EXPECT_EQ(size({293, 295}), (Size{280, 308}));
    EXPECT_EQ(size({294, 294}), (Size{280, 280}));  // 10.5 rounds to even
    EXPECT_EQ(size({42, 70}), (Size{56, 56}));      // 1.5 up and 2.5 down, both to even
    EXPECT_EQ(size({2000, 2000}), (Size{980, 980}));
    EXPECT_EQ(size({10, 10}), (Size{56, 56}));
    EXPECT_EQ(*choose_pixel_size({294, 294}, range, Arithmetic::LlamaCpp), (Size{308, 308}));
}

TEST(ChoosePixelSize, ResultsAreMultiplesWithinTheLimits) {
    const PixelRange range{28, 8 * 784, 4096 * 784};
    for (int width = 3; width < 6000; width += 397) {
        for (int height = 3; height < 6000; height += 283) {
            if (std::max(width, height) > 200 * std::min(width, height)) continue;
            for (const Arithmetic arithmetic : {Arithmetic::Original, Arithmetic::LlamaCpp}) {
                const auto size = choose_pixel_size({width, height}, range, arithmetic);
                ASSERT_TRUE(size.ok());
                EXPECT_EQ(size->width % 28, 0);
                EXPECT_EQ(size->height % 28, 0);
                const std::int64_t pixels = std::int64_t{size->width} * size->height;
                EXPECT_GE(pixels, range.min_pixels) << width << " x " << height;
                // A side of one factor may not shrink further, so thin pictures can stay a little above.
                if (std::min(size->width, size->height) > 28) {
                    EXPECT_LE(pixels, range.max_pixels);
                }
            }
        }
    }
}

TEST(ChoosePixelSize, RefusesRangesThatCannotBeMet) {
    EXPECT_EQ(choose_pixel_size({5, 5}, {0, 1, 100}, Arithmetic::Original).status().code(),
              Code::InvalidArgument);
    EXPECT_EQ(choose_pixel_size({5, 5}, {28, 200, 100}, Arithmetic::Original).status().code(),
              Code::InvalidArgument);
    EXPECT_EQ(choose_pixel_size({5, 5}, {28, 1, 783}, Arithmetic::Original).status().code(),
              Code::InvalidArgument);
}

TEST(CutTiles, GoesRowByRowFromTheTopLeft) {
    const Image image = testing::noise_image(6, 4);
    const auto tiles = cut_tiles(image, {3, 2});
    ASSERT_TRUE(tiles.ok());
    ASSERT_EQ(tiles->size(), 4U);
    EXPECT_EQ((*tiles)[1].rgb, crop(image, 3, 0, {3, 2})->rgb);
    EXPECT_EQ((*tiles)[2].rgb, crop(image, 0, 2, {3, 2})->rgb);
    EXPECT_EQ(cut_tiles(image, {4, 2}).status().code(), Code::InvalidArgument);
}

}  // namespace

}  // namespace clasp::image
