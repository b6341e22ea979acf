#include "draw/token_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>

#include "image/test_images.h"

namespace clasp::draw {

namespace {

Image grey_picture() {
    Image image = image::testing::noise_image(80, 60);
    std::fill(image.rgb.begin(), image.rgb.end(), std::uint8_t{200});
    return image;
}

TokenMap map_of(const Image& picture, std::vector<Mark> marks) {
    TokenMap map;
    map.picture = &picture;
    map.rows = 2;
    map.columns = 2;
    map.stages = {{"from layer 2", std::move(marks)}};
    map.question = "Where?";
    map.answer = "Here.";
    return map;
}

// The number of pixels in which one channel clearly leads, within the panel of the stage.
int tinted(const Canvas& canvas, std::size_t channel) {
    int n = 0;
    for (int y = 0; y < canvas.height(); ++y) {
        for (int x = canvas.width() / 2; x < canvas.width(); ++x) {
            const Colour colour = canvas.at(x, y);
            bool leads = true;
            for (std::size_t c = 0; c < 3; ++c)
                leads = leads && (c == channel || colour[channel] > colour[c] + 8);
            n += leads ? 1 : 0;
        }
    }
    return n;
}

int dark(const Canvas& canvas) {
    int n = 0;
    for (int y = 60; y < 400; ++y) {
        for (int x = canvas.width() / 2; x < canvas.width() - 40; ++x) n += canvas.at(x, y)[0] < 100 ? 1 : 0;
    }
    return n;
}

TEST(TokenMap, PivotsAreBlueCoverageIsRedDroppedIsDim) {
    const Image picture = grey_picture();
    const auto pivots =
        draw_token_map(map_of(picture, {Mark::Pivot, Mark::Pivot, Mark::Dropped, Mark::Dropped}));
    const auto coverage =
        draw_token_map(map_of(picture, {Mark::Coverage, Mark::Dropped, Mark::Dropped, Mark::Dropped}));
    ASSERT_TRUE(pivots.ok() && coverage.ok());
    EXPECT_GT(tinted(*pivots, 2), 70'000);
    EXPECT_LT(tinted(*pivots, 0), 500);
    EXPECT_GT(tinted(*coverage, 0), 35'000);
    EXPECT_LT(tinted(*coverage, 2), 500);
    EXPECT_GT(dark(*coverage), dark(*pivots) + 30'000);
}

TEST(TokenMap, LongTextAndManyStagesMakeItTaller) {
    const Image picture = grey_picture();
    TokenMap map = map_of(picture, std::vector<Mark>(4, Mark::Kept));
    const auto small = draw_token_map(map);
    map.stages.resize(6, map.stages.front());
    for (int i = 0; i < 100; ++i) map.answer += " and here too";
    const auto large = draw_token_map(map);
    ASSERT_TRUE(small.ok() && large.ok());
    EXPECT_GT(large->height(), small->height() + 400);
}

TEST(TokenMap, ShowsThePictureOnItsFrame) {
    const Image picture = grey_picture();
    TokenMap map = map_of(picture, std::vector<Mark>(4, Mark::Kept));
    map.frame = {{80, 80}, 0, 10, {10, 200, 10}};
    const auto canvas = draw_token_map(map);
    ASSERT_TRUE(canvas.ok());
    int green = 0;
    for (int y = 0; y < canvas->height(); ++y) {
        for (int x = 0; x < canvas->width() / 2; ++x)
            green += canvas->at(x, y) == (Colour{10, 200, 10}) ? 1 : 0;
    }
    // A quarter of the panel, less what the filter touches at the seams.
    EXPECT_GT(green, 400 * 100 * 3 / 4);
    EXPECT_LE(green, 400 * 100);
}

TEST(TokenMap, WhatDoesNotFitIsAnError) {
    const Image picture = grey_picture();
    const auto wrong_count = draw_token_map(map_of(picture, {Mark::Pivot}));
    ASSERT_FALSE(wrong_count.ok());
    EXPECT_EQ(wrong_count.status().message(), "stage \"from layer 2\" marks 1 tokens, but the grid has 4");
    TokenMap no_picture = map_of(picture, std::vector<Mark>(4, Mark::Kept));
    no_picture.picture = nullptr;
    EXPECT_EQ(draw_token_map(no_picture).status().code(), Code::InvalidArgument);
    TokenMap no_grid = map_of(picture, {});
    no_grid.rows = 0;
    EXPECT_EQ(draw_token_map(no_grid).status().code(), Code::InvalidArgument);
}

}  // namespace

}  // namespace clasp::draw
