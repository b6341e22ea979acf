// A small stroke font of our own: printable ASCII as pen strokes, so that it can be drawn smoothly at
// any size.
#pragma once

#include <string_view>
#include <vector>

namespace clasp::draw {

// Units of the glyph grid: capitals stand from 0 to 12, small letters from 4, descenders reach 16.
inline constexpr double kCapHeight = 12.0;
inline constexpr double kDescent = 4.0;
inline constexpr double kGlyphGap = 3.2;

struct Point {
    double x = 0;
    double y = 0;
};

struct Glyph {
    double width = 0;
    std::vector<std::vector<Point>> strokes;  // polylines; a single point is a dot
};

// The glyph of a Unicode code point; an empty box for those that the font does not have.
Glyph glyph_of(char32_t code_point);

// The code points of UTF-8 text. Typographic quotes, dashes, dots and spaces become ASCII; each broken
// byte becomes U+FFFD.
std::u32string decode_text(std::string_view utf8);

}  // namespace clasp::draw
