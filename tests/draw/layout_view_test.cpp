#include "draw/layout_view.h"

#include <gtest/gtest.h>

#include "image/test_images.h"

namespace clasp::draw {
namespace {

ImageLayout one_region() {
    ImageLayout layout;
    layout.picture = {640, 480};
    layout.grid = {4, 4};
    layout.regions = {{.grid = {4, 4}, .area = {0, -80, 640, 640}, .view = 0}};
    return layout;
}

TEST(LayoutViews, APaddedSquareIsItsOwnGrid) {
    const std::vector<LayoutView> views = layout_views(one_region());
    ASSERT_EQ(views.size(), 1U);
    EXPECT_EQ(views[0].rows, 4);
    EXPECT_EQ(views[0].columns, 4);
    for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(views[0].tokens[i], i);
}

// Two tiles side by side, tile by tile in the order of tokens, and an overview behind them.
TEST(LayoutViews, TilesOfAViewAreOneGridAndTheOverviewAnother) {
    ImageLayout layout;
    layout.picture = {100, 50};
    layout.regions = {{.grid = {2, 2}, .area = {0, 0, 50, 50}, .view = 1},
                      {.grid = {2, 2}, .area = {50, 0, 50, 50}, .view = 1},
                      {.grid = {2, 2}, .area = {0, 0, 100, 50}, .view = 0}};
    const std::vector<LayoutView> views = layout_views(layout);
    ASSERT_EQ(views.size(), 2U);
    EXPECT_EQ(views[0].rows, 2);
    EXPECT_EQ(views[0].columns, 4);
    EXPECT_EQ(views[0].tokens, (std::vector<std::size_t>{0, 1, 4, 5, 2, 3, 6, 7}));
    EXPECT_EQ(views[0].area.width, 100.0);
    EXPECT_EQ(views[1].tokens, (std::vector<std::size_t>{8, 9, 10, 11}));
}

TEST(LayoutViews, RegionsThatFillNoRectangleAreShownApart) {
    ImageLayout layout;
    layout.regions = {{.grid = {2, 2}, .area = {0, 0, 50, 50}, .view = 0},
                      {.grid = {2, 2}, .area = {50, 50, 50, 50}, .view = 0}};
    const std::vector<LayoutView> views = layout_views(layout);
    ASSERT_EQ(views.size(), 2U);
    EXPECT_EQ(views[1].tokens.front(), 4U);
    EXPECT_EQ(views[1].area.left, 50.0);
}

// Of frames with a class row each, the token before the cells has none.
TEST(LayoutViews, ClassRowsHaveNoCell) {
    ImageLayout layout;
    layout.regions = {{.grid = {1, 2}, .area = {10, 5, 60, 40}, .view = 0, .has_class = true},
                      {.grid = {1, 2}, .area = {10, 5, 60, 40}, .view = 1, .step = 1, .has_class = true}};
    EXPECT_EQ(layout.n_tokens(), 6U);
    const std::vector<LayoutView> views = layout_views(layout);
    ASSERT_EQ(views.size(), 2U);
    EXPECT_EQ(views[0].tokens, (std::vector<std::size_t>{1, 2}));
    EXPECT_EQ(views[1].tokens, (std::vector<std::size_t>{4, 5}));
    EXPECT_EQ(layout.cell(3).width, 0.0);
    EXPECT_EQ(layout.cell(4).left, 10.0);
    EXPECT_EQ(layout.cell(5).left, 40.0);
}

// Line breaks that are tokens have no cell: the tokens behind them are where their numbers say.
TEST(LayoutViews, LineBreaksHaveNoCell) {
    ImageLayout layout;
    layout.regions = {{.grid = {1, 2}, .area = {0, 0, 60, 40}, .view = 0},
                      {.grid = {2, 3}, .area = {0, 0, 60, 40}, .view = 1, .has_breaks = true}};
    EXPECT_EQ(layout.n_tokens(), 2U + 2U * 4U);
    const std::vector<LayoutView> views = layout_views(layout);
    ASSERT_EQ(views.size(), 2U);
    EXPECT_EQ(views[1].tokens, (std::vector<std::size_t>{2, 3, 4, 6, 7, 8}));
    EXPECT_EQ(layout.cell(7).left, 20.0);
    EXPECT_EQ(layout.cell(7).top, 20.0);
    EXPECT_EQ(layout.cell(5).width, 0.0) << "the break behind the first row";
    EXPECT_EQ(layout.cell(5).left, 60.0);
}

TEST(FramePicture, PutsThePictureOnItsPadding) {
    const Image picture = image::testing::noise_image(64, 48);
    const auto framed = frame_picture(picture, {0, -8, 64, 64}, {1, 2, 3});
    ASSERT_TRUE(framed.ok());
    EXPECT_EQ(framed->picture.rgb, picture.rgb);
    EXPECT_EQ(framed->frame.size, (image::Size{64, 64}));
    EXPECT_EQ(framed->frame.top, 8);
    EXPECT_EQ(framed->frame.left, 0);
}

TEST(FramePicture, CutsWhatTheModelDidNotSee) {
    const Image picture = image::testing::noise_image(64, 48);
    const auto framed = frame_picture(picture, {8, 0, 48, 48}, {});
    ASSERT_TRUE(framed.ok());
    EXPECT_EQ(framed->picture.width, 48);
    EXPECT_EQ(framed->picture.rgb, image::crop(picture, 8, 0, {48, 48})->rgb);
    EXPECT_EQ(frame_picture(picture, {100, 0, 10, 10}, {}).status().code(), Code::InvalidArgument);
}

}  // namespace
}  // namespace clasp::draw
