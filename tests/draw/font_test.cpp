#include "draw/font.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace clasp::draw {

namespace {

std::string shape(char32_t c) {
    std::string text;
    for (const auto& stroke : glyph_of(c).strokes) {
        for (const Point p : stroke) text += std::to_string(p.x) + "," + std::to_string(p.y) + " ";
        text += "/";
    }
    return text;
}

TEST(Font, EveryPrintableCharacterHasAShapeOfItsOwn) {
    std::set<std::string> shapes;
    for (char32_t c = '!'; c <= '~'; ++c) {
        // 'l' and '|' differ in length, 'O' and '0' in width; no two may coincide.
        EXPECT_TRUE(shapes.insert(shape(c)).second) << static_cast<char>(c);
    }
    EXPECT_TRUE(glyph_of(' ').strokes.empty());
    EXPECT_GT(glyph_of(' ').width, 0);
}

TEST(Font, StrokesStayInsideTheirCell) {
    for (char32_t c = ' '; c <= '~'; ++c) {
        const Glyph glyph = glyph_of(c);
        for (const auto& stroke : glyph.strokes) {
            ASSERT_FALSE(stroke.empty());
            for (const Point p : stroke) {
                EXPECT_GE(p.x, -1e-9) << static_cast<char>(c);
                EXPECT_LE(p.x, glyph.width + 1e-9) << static_cast<char>(c);
                EXPECT_GE(p.y, -1e-9) << static_cast<char>(c);
                EXPECT_LE(p.y, kCapHeight + kDescent + 1e-9) << static_cast<char>(c);
            }
        }
    }
}

TEST(Font, UnknownCharactersAreABox) {
    EXPECT_EQ(shape(0x4F60), shape(0xFFFD));
    EXPECT_NE(shape(0x4F60), shape('?'));
}

TEST(DecodeText, ReadsUtf8AndSimplifiesTypography) {
    EXPECT_EQ(decode_text("a\xC3\xA9\xE4\xBD\xA0\xF0\x9F\x98\x80"), U"a\u00E9\u4F60\U0001F600");
    EXPECT_EQ(decode_text("\xE2\x80\x9Cx\xE2\x80\x9D \xE2\x80\x94 \xE2\x80\x99\xE2\x80\xA6"),
              U"\"x\" - '...");
}

TEST(DecodeText, BrokenBytesBecomeReplacements) {
    EXPECT_EQ(decode_text("a\xC3"), U"a\uFFFD");
    EXPECT_EQ(decode_text("\x80\xFFz"), U"\uFFFD\uFFFDz");
    EXPECT_EQ(decode_text("\xE4\xBDq"), U"\uFFFD\uFFFDq");
}

}  // namespace

}  // namespace clasp::draw
