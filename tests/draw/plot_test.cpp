#include "draw/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace clasp::draw {

namespace {

int pixels_of(const Canvas& canvas, const Colour& colour) {
    int n = 0;
    for (int y = 0; y < canvas.height(); ++y) {
        for (int x = 0; x < canvas.width(); ++x) n += canvas.at(x, y) == colour ? 1 : 0;
    }
    return n;
}

constexpr Colour kFirst = {0, 114, 178};
constexpr Colour kSecond = {213, 94, 0};

TEST(NiceTicks, AreRoundAndCoverTheRange) {
    EXPECT_THAT(nice_ticks(0, 10, 5), ::testing::ElementsAre(0, 2, 4, 6, 8, 10));
    EXPECT_THAT(nice_ticks(0, 97, 5), ::testing::ElementsAre(0, 20, 40, 60, 80, 100));
    EXPECT_THAT(nice_ticks(-3, 4, 4), ::testing::ElementsAre(-4, -2, 0, 2, 4));
    for (double high = 1e-9; high < 1e12; high *= 7.3) {
        const auto ticks = nice_ticks(0, high, 6);
        EXPECT_LE(ticks.size(), 9U) << high;
        EXPECT_GE(ticks.size(), 4U) << high;
        EXPECT_GE(ticks.back(), high * (1 - 1e-6));
    }
    EXPECT_TRUE(nice_ticks(1, 1, 5).empty());
}

TEST(LinePlot, DrawsEverySeriesInItsColour) {
    const auto plot = draw_line_plot({{"a", {{0, 1}, {10, 5}}}, {"b", {{0, 2}, {10, 3}}}}, {"t", "x", "y"});
    ASSERT_TRUE(plot.ok()) << plot.status().message();
    EXPECT_GT(pixels_of(*plot, kFirst), 400);
    EXPECT_GT(pixels_of(*plot, kSecond), 400);
}

TEST(LinePlot, TakesASinglePointAndRefusesBadValues) {
    EXPECT_TRUE(draw_line_plot({{"a", {{3, 3}}}}, {}).ok());
    EXPECT_EQ(draw_line_plot({}, {}).status().code(), Code::InvalidArgument);
    EXPECT_EQ(draw_line_plot({{"a", {{0, std::nan("")}}}}, {}).status().code(), Code::InvalidArgument);
    EXPECT_EQ(draw_line_plot({{"a", {{0, 1}}}}, {}, {10, 10}).status().code(), Code::InvalidArgument);
}

}  // namespace

}  // namespace clasp::draw
