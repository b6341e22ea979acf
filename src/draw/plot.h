// Simple plots for reports: lines over a numeric axis.
#pragma once

#include <string>
#include <vector>

#include "draw/canvas.h"

namespace clasp::draw {

struct PlotLabels {
    std::string title;
    std::string x_axis;
    std::string y_axis;
};

struct PlotSize {
    int width = 720;   // at least 240
    int height = 440;  // at least 180
};

struct LineSeries {
    std::string label;
    std::vector<Point> points;  // finite, in drawing order
};

// Axes start at zero when all values of an axis are positive and near it.
Result<Canvas> draw_line_plot(const std::vector<LineSeries>& series, const PlotLabels& labels,
                              const PlotSize& size = {});

// Round numbers (1, 2 or 5 times a power of ten) that divide [low, high] into about n steps, the first
// not above low, the last not below high. Empty unless low < high.
std::vector<double> nice_ticks(double low, double high, int n);

}  // namespace clasp::draw
