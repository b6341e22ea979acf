// Resampling that equals Pillow's to the bit: separable, antialiased when shrinking, 22-bit fixed-point
// weights, horizontal pass first, rounded to 8 bits between the passes. llama.cpp does the same.
#pragma once

#include <array>
#include <cstdint>

#include "clasp/image.h"

namespace clasp::image {

enum class Filter : std::uint8_t {
    Bilinear,  // triangle, support 1
    Bicubic,   // a = -0.5, support 2
    Lanczos,   // windowed sinc, support 3
};

using Colour = std::array<std::uint8_t, 3>;

using Size = PixelSize;

// The longest side that resize makes or reads.
inline constexpr int kMaxResizeSide = 65536;

// A picture seen on a larger canvas of one colour. Resizing it equals painting that canvas and resizing
// that, but the canvas never exists: a thin strip padded to a square would take gigabytes.
struct Canvas {
    Size size;
    int left = 0;  // where the picture's first column and row stand
    int top = 0;
    Colour colour = {0, 0, 0};
};

// Errors: InvalidArgument for an empty picture, a side outside 1..kMaxResizeSide or (on_canvas) a picture
// that does not lie wholly on its canvas; OutOfMemory.
Result<Image> resize(const Image& image, Size target, Filter filter);
Result<Image> resize_on_canvas(const Image& image, const Canvas& canvas, Size target, Filter filter);

// The picture painted on a canvas; parts that stick out are an InvalidArgument.
Result<Image> paint_on_canvas(const Image& image, const Canvas& canvas);

// The rectangle must lie wholly inside the picture.
Result<Image> crop(const Image& image, int left, int top, Size size);

}  // namespace clasp::image
