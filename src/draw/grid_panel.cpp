#include "draw/grid_panel.h"

#include <algorithm>
#include <string>

namespace clasp::draw {

namespace {

constexpr int kMaxCells = 512;
constexpr int kMinCell = 3;

}  // namespace

Result<GridPanel> make_grid_panel(int rows, int columns, int side) {
    if (rows < 1 || columns < 1 || rows > kMaxCells || columns > kMaxCells) {
        return Status(Code::InvalidArgument, "a grid of " + std::to_string(rows) + " x " +
                                                 std::to_string(columns) + " tokens is outside 1 to " +
                                                 std::to_string(kMaxCells) + " per side");
    }
    const int longest = std::max(rows, columns);
    return GridPanel{rows, columns, std::max(kMinCell, (side + longest / 2) / longest)};
}

Result<Image> panel_picture(const Image* picture, const image::Canvas& frame, const GridPanel& panel) {
    if (picture == nullptr) return Status(Code::InvalidArgument, "there is no picture to draw on");
    const bool is_whole = frame.size == image::Size{};
    const image::Canvas whole{{picture->width, picture->height}, 0, 0, {}};
    return image::resize_on_canvas(*picture, is_whole ? whole : frame, {panel.width(), panel.height()},
                                   image::Filter::Lanczos);
}

double draw_lines(Canvas& canvas, double x, double y, const std::vector<std::string>& lines, double size,
                  const Colour& colour) {
    for (const std::string& line : lines) {
        canvas.text(x, y, line, size, colour);
        y += line_height(size);
    }
    return y;
}

}  // namespace clasp::draw
