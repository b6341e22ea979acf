// The layout of a picture's tokens as grids that maps can show.
#pragma once

#include <cstddef>
#include <vector>

#include "clasp/image.h"
#include "clasp/image_layout.h"
#include "image/resize.h"

namespace clasp::draw {

// Tokens that lie side by side on a part of the picture.
struct LayoutView {
    PixelRect area;
    int rows = 0;
    int columns = 0;
    std::vector<std::size_t> tokens;  // per cell, row by row: which of the layout's
};

// One for each view; regions of a view that do not fill a rectangle with cells of one size are shown apart.
std::vector<LayoutView> layout_views(const ImageLayout& layout);

// A part of a picture, to be drawn on its frame (token_map.h): what lies outside the picture is one colour.
struct FramedPicture {
    Image picture;
    image::Canvas frame;
};
// Rounded to whole pixels. Error: invalid_argument when picture and area have nothing in common.
Result<FramedPicture> frame_picture(const Image& picture, const PixelRect& area, const image::Colour& colour);

}  // namespace clasp::draw
