// What token maps and heat maps share: the picture cut into the cells of a grid.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "clasp/image.h"
#include "draw/canvas.h"
#include "image/resize.h"

namespace clasp::draw {

// Sizes of a panel in pixels: whole cells, square, about so many pixels along the longer side.
inline constexpr int kPanelSide = 400;
struct GridPanel {
    int rows = 0;
    int columns = 0;
    int cell = 0;

    [[nodiscard]] int width() const { return columns * cell; }
    [[nodiscard]] int height() const { return rows * cell; }
    // Of a cell in a list that goes row by row.
    [[nodiscard]] std::size_t index(int row, int column) const {
        return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) +
               static_cast<std::size_t>(column);
    }
};

// Grids of 1 x 1 to 512 x 512.
Result<GridPanel> make_grid_panel(int rows, int columns, int side = kPanelSide);

// The picture on its frame (the picture alone for an empty frame) at the size of the panel.
Result<Image> panel_picture(const Image* picture, const image::Canvas& frame, const GridPanel& panel);

// Text drawn line by line; returns the y below the last line.
double draw_lines(Canvas& canvas, double x, double y, const std::vector<std::string>& lines, double size,
                  const Colour& colour);

}  // namespace clasp::draw
