#include "draw/canvas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace clasp::draw {

namespace {

constexpr Colour kBlack = {0, 0, 0};

Canvas white(int width, int height) {
    return std::move(Canvas::make(width, height)).value();
}

int ink_in(const Canvas& canvas, int x, int y, int width, int height) {
    int n = 0;
    for (int row = y; row < y + height; ++row) {
        for (int column = x; column < x + width; ++column) n += canvas.at(column, row)[0] < 128 ? 1 : 0;
    }
    return n;
}

TEST(Canvas, RefusesImpossibleSizes) {
    EXPECT_EQ(Canvas::make(0, 5).status().code(), Code::InvalidArgument);
    EXPECT_EQ(Canvas::make(5, 20000).status().code(), Code::InvalidArgument);
}

TEST(Canvas, FillsBlendsAndCutsAtTheEdges) {
    Canvas canvas = white(4, 3);
    canvas.fill(2, 1, 10, 10, kBlack);
    EXPECT_EQ(canvas.at(1, 1), kWhite);
    EXPECT_EQ(canvas.at(2, 1), kBlack);
    EXPECT_EQ(canvas.at(3, 2), kBlack);
    canvas.fill(-5, -5, 6, 6, {55, 155, 255}, 0.5);
    EXPECT_EQ(canvas.at(0, 0), (Colour{155, 205, 255}));
    EXPECT_EQ(canvas.at(1, 0), kWhite);
}

TEST(Canvas, OutlinesInsideTheRectangle) {
    Canvas canvas = white(6, 6);
    canvas.outline(1, 1, 4, 4, 1, kBlack);
    EXPECT_EQ(ink_in(canvas, 0, 0, 6, 6), 12);
    EXPECT_EQ(canvas.at(2, 2), kWhite);
    EXPECT_EQ(canvas.at(4, 4), kBlack);
    EXPECT_EQ(canvas.at(5, 5), kWhite);
}

TEST(Canvas, LinesAreSmoothAndMayLeaveTheCanvas) {
    Canvas canvas = white(20, 20);
    canvas.line({-10, 10.5}, {40, 10.5}, 1, kBlack);
    EXPECT_EQ(ink_in(canvas, 0, 10, 20, 1), 20);
    EXPECT_EQ(ink_in(canvas, 0, 0, 20, 9), 0);
    canvas.line({0, 0}, {20, 20}, 1.5, kBlack);
    int between = 0;
    for (int x = 0; x < 20; ++x) between += canvas.at(x, 5)[0] > 20 && canvas.at(x, 5)[0] < 235 ? 1 : 0;
    EXPECT_GT(between, 0);
}

TEST(Canvas, TextLeavesInkWithinItsWidth) {
    Canvas canvas = white(200, 40);
    const double width = canvas.text(10, 10, "Hi, you", 12, kBlack);
    EXPECT_DOUBLE_EQ(width, text_width("Hi, you", 12));
    EXPECT_GT(ink_in(canvas, 9, 8, static_cast<int>(width) + 2, 20), 40);
    EXPECT_EQ(ink_in(canvas, 0, 0, 8, 40), 0);
    EXPECT_EQ(ink_in(canvas, static_cast<int>(width) + 12, 0, 80, 40), 0);
}

TEST(WrapText, BreaksBetweenWordsWithinTheWidth) {
    const auto lines = wrap_text("one two three four five six seven", 12, 100, 10);
    EXPECT_GT(lines.size(), 2U);
    std::string joined;
    for (const auto& line : lines) {
        EXPECT_LE(text_width(line, 12), 100 + text_width(" ", 12));
        joined += line + " ";
    }
    std::string plain;
    for (const char c : joined) {
        if (c != ' ') plain += c;
    }
    EXPECT_EQ(plain, "onetwothreefourfivesixseven");
}

TEST(WrapText, BreaksLongWordsKeepsLineEndsAndSaysWhatIsCut) {
    for (const auto& line : wrap_text(std::string(200, 'w'), 12, 100, 50))
        EXPECT_LE(text_width(line, 12), 100);
    EXPECT_THAT(wrap_text("a\n\nb", 12, 100, 9), ::testing::ElementsAre("a", "", "b"));
    EXPECT_THAT(wrap_text("a\nb\nc", 12, 100, 2), ::testing::ElementsAre("a", "b..."));
    EXPECT_THAT(wrap_text("", 12, 100, 2), ::testing::ElementsAre(""));
}

}  // namespace

}  // namespace clasp::draw
