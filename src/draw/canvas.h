// A picture to draw on: rectangles, lines, pictures and text, with antialiasing and alpha.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/image.h"
#include "draw/font.h"
#include "image/resize.h"

namespace clasp::draw {

using image::Colour;

inline constexpr Colour kWhite = {255, 255, 255};
inline constexpr Colour kInk = {32, 36, 44};
inline constexpr Colour kFaintInk = {112, 118, 130};

// Coordinates are pixels from the top left. Everything is cut at the edges.
class Canvas {
   public:
    // Sides within 1 .. 16384, filled with one colour.
    static Result<Canvas> make(int width, int height, const Colour& colour = kWhite);

    [[nodiscard]] int width() const { return image_.width; }
    [[nodiscard]] int height() const { return image_.height; }
    [[nodiscard]] const Image& image() const { return image_; }
    [[nodiscard]] Colour at(int x, int y) const;

    // alpha 0 leaves what is there, 1 covers it.
    void fill(int x, int y, int width, int height, const Colour& colour, double alpha = 1.0);
    // A frame inside the rectangle.
    void outline(int x, int y, int width, int height, int thickness, const Colour& colour,
                 double alpha = 1.0);
    void line(Point from, Point to, double thickness, const Colour& colour, double alpha = 1.0);
    void paste(const Image& picture, int x, int y);

    // One line of text; y is the top of the capitals, size their height in pixels. Returns its width.
    double text(double x, double y, std::string_view utf8, double size, const Colour& colour);

   private:
    explicit Canvas(Image image) : image_(std::move(image)) {}
    void blend(int x, int y, const Colour& colour, double alpha);
    // Every pixel once per polyline, however many segments meet there.
    void stroke(const std::vector<Point>& points, double thickness, const Colour& colour, double alpha);

    Image image_;
};

double text_width(std::string_view utf8, double size);

// Lines no wider than `width`; words that are wider are broken, and the text's own line ends are kept.
// At most max_lines lines, the last one ending in "..." if something had to go.
std::vector<std::string> wrap_text(std::string_view utf8, double size, double width, std::size_t max_lines);

// Height that one line of wrapped text takes.
inline double line_height(double size) {
    return size * 1.75;
}

}  // namespace clasp::draw
