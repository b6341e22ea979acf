// What became of tokens, as colours over the cells of a picture, with counts and a legend.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "draw/canvas.h"
#include "draw/grid_panel.h"

namespace clasp::draw {

enum class Mark : std::uint8_t {
    Dropped,
    Pivot,     // kept for relevance
    Coverage,  // kept for completeness
    Merged,    // kept, and carries others that were merged into it
    Kept,      // kept by a method that gives no reason
};

// The colour that stands for a reason to keep, here and on the web page.
Colour mark_colour(Mark mark);

// Over a picture of the panel's size at x, y; one mark per cell, row by row.
void draw_marks(Canvas& canvas, const std::vector<Mark>& marks, const GridPanel& panel, int x, int y);

// "3 pivots, 5 coverage"; empty when none has a reason.
std::string count_marks(const std::vector<Mark>& marks);

// What the marks that occur mean; returns the y below.
double draw_legend(Canvas& canvas, const std::vector<const std::vector<Mark>*>& all, double x, double y);

}  // namespace clasp::draw
