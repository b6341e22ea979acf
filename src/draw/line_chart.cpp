#include "draw/line_chart.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "base/text.h"
#include "draw/html.h"

namespace clasp::draw {

namespace {

constexpr double kWidth = 520.0;
constexpr double kLeft = 62.0;
constexpr double kRight = 16.0;
constexpr double kTop = 36.0;
constexpr double kPlotHeight = 240.0;
constexpr double kBottom = 48.0;
constexpr double kLegendLine = 18.0;
constexpr std::string_view kBackground = "#c3c9d4";

std::string number(double value) {
    return base::format_number(value, 2);
}

// Where values stand on the page.
struct Axes {
    double x_low = 0.0;
    double x_high = 0.0;
    double y_low = 0.0;
    double y_high = 0.0;

    [[nodiscard]] double x(double value) const {
        const double share = x_high > x_low ? (std::log(value) - x_low) / (x_high - x_low) : 0.5;
        return kLeft + share * (kWidth - kLeft - kRight);
    }
    [[nodiscard]] double y(double value) const {
        return kTop + (y_high - value) / (y_high - y_low) * kPlotHeight;
    }
};

Axes make_axes(const LineChart& chart) {
    Axes axes;
    axes.x_low = axes.y_low = std::numeric_limits<double>::infinity();
    axes.x_high = axes.y_high = -std::numeric_limits<double>::infinity();
    for (const ChartLine& line : chart.lines) {
        for (const ChartPoint& point : line.points) {
            axes.x_low = std::min(axes.x_low, std::log(point.x));
            axes.x_high = std::max(axes.x_high, std::log(point.x));
            axes.y_low = std::min({axes.y_low, point.y, point.low});
            axes.y_high = std::max({axes.y_high, point.y, point.high});
        }
    }
    if (chart.has_level) {
        axes.y_low = std::min(axes.y_low, chart.level);
        axes.y_high = std::max(axes.y_high, chart.level);
    }
    const double x_margin = 0.06 * std::max(axes.x_high - axes.x_low, 0.5);
    axes.x_low -= x_margin;
    axes.x_high += x_margin;
    const double y_margin = std::max(0.05 * (axes.y_high - axes.y_low), 1e-3);
    axes.y_low -= y_margin;
    axes.y_high += y_margin;
    return axes;
}

// 1, 2 or 5 times a power of ten, about five steps over the range.
double tick_step(double range) {
    const double raw = range / 5.0;
    const double power = std::pow(10.0, std::floor(std::log10(raw)));
    for (const double factor : {1.0, 2.0, 5.0}) {
        if (raw <= factor * power) return factor * power;
    }
    return 10.0 * power;
}

std::string text_at(double x, double y, const std::string& text, const char* anchor, const char* more = "") {
    return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" text-anchor=\"" + anchor + "\" " + more +
           ">" + escape_html(text) + "</text>\n";
}

std::string line_at(double x1, double y1, double x2, double y2, const std::string& style) {
    return "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" + number(x2) + "\" y2=\"" +
           number(y2) + "\" " + style + " />\n";
}

std::string draw_axes(const LineChart& chart, const Axes& axes) {
    std::string svg;
    const double bottom = kTop + kPlotHeight;
    const double step = tick_step(axes.y_high - axes.y_low);
    const auto first = static_cast<long long>(std::ceil(axes.y_low / step));
    const auto last = static_cast<long long>(std::floor(axes.y_high / step));
    for (long long tick = first; tick <= last; ++tick) {
        const double value = static_cast<double>(tick) * step;
        svg += line_at(kLeft, axes.y(value), kWidth - kRight, axes.y(value), "stroke=\"#e4e8ef\"");
        svg += text_at(kLeft - 7.0, axes.y(value) + 4.0, number(value), "end", "fill=\"#667085\"");
    }
    svg += line_at(kLeft, bottom, kWidth - kRight, bottom, "stroke=\"#1d232e\"");
    for (const ChartTick& tick : chart.ticks) {
        svg += line_at(axes.x(tick.x), bottom, axes.x(tick.x), bottom + 5.0, "stroke=\"#1d232e\"");
        svg += text_at(axes.x(tick.x), bottom + 18.0, tick.name, "middle", "fill=\"#667085\"");
    }
    svg += text_at((kLeft + kWidth - kRight) / 2.0, bottom + 38.0, chart.x_title, "middle");
    svg += text_at(kLeft - 44.0, kTop - 16.0, chart.title, "start", "font-weight=\"600\" font-size=\"14\"");
    svg += text_at(kWidth - kRight, kTop - 16.0, chart.y_title, "end", "fill=\"#667085\"");
    if (chart.has_level) {
        svg += line_at(kLeft, axes.y(chart.level), kWidth - kRight, axes.y(chart.level),
                       "stroke=\"#667085\" stroke-dasharray=\"5 4\"");
    }
    return svg;
}

// `shift` in pixels keeps the intervals of several lines apart.
std::string draw_line(const ChartLine& line, const Axes& axes, double shift) {
    const std::string colour = "\"" + line.colour + "\"";
    std::string path;
    std::string marks;
    for (const ChartPoint& point : line.points) {
        const double x = axes.x(point.x) + shift;
        path += (path.empty() ? "M" : " L") + number(x) + " " + number(axes.y(point.y));
        marks += line_at(x, axes.y(point.low), x, axes.y(point.high),
                         "stroke=" + colour + " stroke-opacity=\"0.45\" stroke-width=\"1.4\"");
        marks += "<circle cx=\"" + number(x) + "\" cy=\"" + number(axes.y(point.y)) +
                 "\" r=\"3.6\" fill=" + colour + "><title>" + escape_html(point.hint) + "</title></circle>\n";
    }
    return "<path d=\"" + path + "\" fill=\"none\" stroke=" + colour + " stroke-width=\"2\" />\n" + marks;
}

std::string draw_background(const ChartLine& line, const Axes& axes) {
    std::string path;
    std::string marks;
    for (const ChartPoint& point : line.points) {
        path += (path.empty() ? "M" : " L") + number(axes.x(point.x)) + " " + number(axes.y(point.y));
        marks += "<circle cx=\"" + number(axes.x(point.x)) + "\" cy=\"" + number(axes.y(point.y)) +
                 "\" r=\"2\" fill=\"" + std::string(kBackground) + "\"><title>" + escape_html(point.hint) +
                 "</title></circle>\n";
    }
    return "<path d=\"" + path + "\" fill=\"none\" stroke=\"" + std::string(kBackground) +
           "\" stroke-width=\"1\" />\n" + marks;
}

}  // namespace

std::string line_chart_svg(const LineChart& chart) {
    const Axes axes = make_axes(chart);
    std::vector<std::pair<std::string, std::string>> legend;
    for (const ChartLine& line : chart.lines) {
        if (!line.is_background) legend.emplace_back(line.name, line.colour);
    }
    const std::size_t n_lines = legend.size();
    if (n_lines < chart.lines.size()) {
        legend.emplace_back(std::to_string(chart.lines.size() - n_lines) + " others", kBackground);
    }
    if (chart.has_level) legend.emplace_back(chart.level_name, "#667085");
    constexpr std::size_t kColumns = 3;
    const std::size_t legend_rows = (legend.size() + kColumns - 1) / kColumns;
    const double height = kTop + kPlotHeight + kBottom + static_cast<double>(legend_rows) * kLegendLine + 6.0;
    std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(kWidth) + "\" height=\"" +
                      number(height) + "\" viewBox=\"0 0 " + number(kWidth) + " " + number(height) +
                      "\" font-size=\"12\" font-family=\"inherit\" role=\"img\" aria-label=\"" +
                      escape_html(chart.title) + "\">\n";
    svg += draw_axes(chart, axes);
    constexpr double kShift = 3.0;
    double shift = -kShift * (static_cast<double>(n_lines) - 1.0) / 2.0;
    for (const ChartLine& line : chart.lines) {
        if (line.is_background) svg += draw_background(line, axes);
    }
    for (const ChartLine& line : chart.lines) {
        if (line.is_background) continue;
        svg += draw_line(line, axes, shift);
        shift += kShift;
    }
    for (std::size_t i = 0; i < legend.size(); ++i) {
        const std::size_t column = i % kColumns;
        const std::size_t row = i / kColumns;
        const double x = kLeft + static_cast<double>(column) * (kWidth - kLeft - kRight) / kColumns;
        const double y = kTop + kPlotHeight + kBottom + 12.0 + static_cast<double>(row) * kLegendLine;
        svg +=
            line_at(x, y - 4.0, x + 18.0, y - 4.0, "stroke=\"" + legend[i].second + "\" stroke-width=\"3\"");
        svg += text_at(x + 24.0, y, legend[i].first, "start");
    }
    return svg + "</svg>\n";
}

}  // namespace clasp::draw
