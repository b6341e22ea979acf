#include "draw/marks.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace clasp::draw {

namespace {

constexpr double kLegendSize = 12;
constexpr Colour kDim = {24, 26, 32};

struct Style {
    Mark mark;
    Colour colour;
    const char* plural;   // in counts
    const char* meaning;  // in the legend
};

constexpr std::array<Style, 4> kStyles = {{
    {Mark::Pivot, {30, 110, 255}, "pivots", "pivot: kept for relevance"},
    {Mark::Coverage, {240, 50, 50}, "coverage", "coverage: kept for completeness"},
    {Mark::Merged, {250, 170, 20}, "merged", "merged: stands for others too"},
    {Mark::Kept, {30, 190, 110}, "kept", "kept"},
}};

bool occurs(const std::vector<const std::vector<Mark>*>& all, Mark mark) {
    return std::any_of(all.begin(), all.end(), [&](const std::vector<Mark>* marks) {
        return std::find(marks->begin(), marks->end(), mark) != marks->end();
    });
}

// Dropped cells almost lose their colour, so that the kept ones stand out.
void dim(Canvas& canvas, int x, int y, int side) {
    for (int row = y; row < y + side; ++row) {
        for (int column = x; column < x + side; ++column) {
            const Colour colour = canvas.at(column, row);
            const auto grey =
                static_cast<std::uint8_t>((colour[0] * 77 + colour[1] * 150 + colour[2] * 29) >> 8);
            canvas.fill(column, row, 1, 1, {grey, grey, grey}, 0.8);
        }
    }
    canvas.fill(x, y, side, side, kDim, 0.68);
}

}  // namespace

Colour mark_colour(Mark mark) {
    for (const Style& style : kStyles) {
        if (style.mark == mark) return style.colour;
    }
    return kDim;
}

void draw_marks(Canvas& canvas, const std::vector<Mark>& marks, const GridPanel& panel, int x, int y) {
    const int thickness = panel.cell >= 24 ? 2 : 1;
    for (int row = 0; row < panel.rows; ++row) {
        for (int column = 0; column < panel.columns; ++column) {
            const Mark mark = marks[panel.index(row, column)];
            const int left = x + column * panel.cell;
            const int top = y + row * panel.cell;
            if (mark == Mark::Dropped) {
                dim(canvas, left, top, panel.cell);
                continue;
            }
            for (const Style& style : kStyles) {
                if (style.mark != mark) continue;
                canvas.fill(left, top, panel.cell, panel.cell, style.colour, 0.22);
                canvas.outline(left, top, panel.cell, panel.cell, thickness, style.colour, 0.9);
            }
        }
    }
}

std::string count_marks(const std::vector<Mark>& marks) {
    std::string text;
    for (const Style& style : kStyles) {
        const auto n = std::count(marks.begin(), marks.end(), style.mark);
        if (n == 0 || style.mark == Mark::Kept) continue;
        text += (text.empty() ? "" : ", ") + std::to_string(n) + " " + style.plural;
    }
    return text;
}

double draw_legend(Canvas& canvas, const std::vector<const std::vector<Mark>*>& all, double x, double y) {
    const int side = static_cast<int>(kLegendSize) + 2;
    const auto entry = [&](const Colour& colour, const char* text, double alpha) {
        const int left = static_cast<int>(x);
        const int top = static_cast<int>(y) - 1;
        canvas.fill(left, top, side, side, colour, alpha);
        canvas.outline(left, top, side, side, 2, colour, 1.0);
        x += side + 8;
        x += canvas.text(x, y, text, kLegendSize, kInk) + 24;
    };
    for (const Style& style : kStyles) {
        if (occurs(all, style.mark)) entry(style.colour, style.meaning, 0.35);
    }
    if (occurs(all, Mark::Dropped)) entry(kDim, "dropped", 0.75);
    return y + line_height(kLegendSize);
}

}  // namespace clasp::draw
