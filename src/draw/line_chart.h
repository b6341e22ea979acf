// Lines over a logarithmic axis as SVG, with intervals, a level to compare with and a legend.
#pragma once

#include <string>
#include <vector>

namespace clasp::draw {

struct ChartPoint {
    double x = 0.0;  // above 0
    double y = 0.0;
    double low = 0.0;  // interval of y
    double high = 0.0;
    std::string hint;  // shown on hovering
};

struct ChartLine {
    std::string name;
    std::string colour;
    std::vector<ChartPoint> points;  // rising x
    bool is_background = false;      // thin and grey behind the others, not named in the legend
};

struct ChartTick {
    double x = 0.0;
    std::string name;
};

struct LineChart {
    std::string title;
    std::string x_title;
    std::string y_title;
    std::vector<ChartLine> lines;
    std::vector<ChartTick> ticks;
    bool has_level = false;  // a dashed line across
    double level = 0.0;
    std::string level_name;
};

// An <svg> element of fixed size that uses nothing from outside.
std::string line_chart_svg(const LineChart& chart);

}  // namespace clasp::draw
