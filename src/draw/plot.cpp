#include "draw/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>

namespace clasp::draw {

namespace {

constexpr double kTitleSize = 14;
constexpr double kPlotTextSize = 11;
constexpr Colour kGridLine = {225, 228, 234};

// Told apart also by readers who see fewer colours.
constexpr std::array<Colour, 8> kColours = {{{0, 114, 178},
                                             {213, 94, 0},
                                             {0, 158, 115},
                                             {204, 121, 167},
                                             {230, 159, 0},
                                             {86, 180, 233},
                                             {110, 90, 60},
                                             {60, 60, 60}}};

Colour colour_of(std::size_t series) {
    return kColours[series % kColours.size()];
}

std::string number(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.6g", std::abs(value) < 1e-12 ? 0.0 : value);
    return text.data();
}

struct Axis {
    std::vector<double> ticks;
    [[nodiscard]] double low() const { return ticks.front(); }
    [[nodiscard]] double high() const { return ticks.back(); }
    [[nodiscard]] double part(double value) const { return (value - low()) / (high() - low()); }
};

Axis make_axis(double low, double high, int n_ticks) {
    if (low > 0 && low < 0.5 * high) low = 0;
    if (low == high) {
        const double room = low == 0 ? 1 : std::abs(low) * 0.1;
        low -= room;
        high += room;
    }
    return {nice_ticks(low, high, n_ticks)};
}

// The area between the axes.
struct Area {
    int left = 0;
    int top = 0;
    int width = 0;
    int height = 0;

    [[nodiscard]] double x(double part) const { return left + part * width; }
    [[nodiscard]] double y(double part) const { return top + (1 - part) * height; }
};

Status check_size(const PlotSize& size) {
    if (size.width < 240 || size.height < 180) {
        return {Code::InvalidArgument, "a plot of " + std::to_string(size.width) + " x " +
                                           std::to_string(size.height) + " pixels is below 240 x 180"};
    }
    return ok_status();
}

Status not_finite(const std::string& label) {
    return {Code::InvalidArgument, "the series \"" + label + "\" has a value that is not finite"};
}

// Title, legend, y axis with grid lines; returns the area that is left for the data.
Area draw_frame(Canvas& canvas, const PlotLabels& labels, const std::vector<std::string>& legend,
                const Axis& y_axis) {
    double widest = 0;
    for (const double tick : y_axis.ticks) widest = std::max(widest, text_width(number(tick), kPlotTextSize));
    Area area;
    area.left = 24 + static_cast<int>(std::ceil(widest)) + 8;
    double y = 18;
    if (!labels.title.empty()) {
        canvas.text(area.left, y, labels.title, kTitleSize, kInk);
        y += line_height(kTitleSize);
    }
    double x = area.left;
    for (std::size_t i = 0; i < legend.size(); ++i) {
        const double needed = 20 + text_width(legend[i], kPlotTextSize) + 18;
        if (x > area.left && x + needed > canvas.width() - 16) {
            x = area.left;
            y += line_height(kPlotTextSize);
        }
        canvas.fill(static_cast<int>(x), static_cast<int>(y), 12, static_cast<int>(kPlotTextSize),
                    colour_of(i));
        canvas.text(x + 18, y, legend[i], kPlotTextSize, kInk);
        x += needed;
    }
    if (!legend.empty()) y += line_height(kPlotTextSize);
    if (!labels.y_axis.empty()) {
        canvas.text(16, y, labels.y_axis, kPlotTextSize, kFaintInk);
        y += line_height(kPlotTextSize);
    }
    area.top = static_cast<int>(y) + 4;
    area.width = canvas.width() - 28 - area.left;
    area.height = canvas.height() - 24 - static_cast<int>(2 * line_height(kPlotTextSize)) - area.top;
    for (const double tick : y_axis.ticks) {
        const double at = area.y(y_axis.part(tick));
        canvas.fill(area.left, static_cast<int>(at), area.width, 1, kGridLine);
        const std::string text = number(tick);
        canvas.text(area.left - 8 - text_width(text, kPlotTextSize), at - kPlotTextSize / 2, text,
                    kPlotTextSize, kFaintInk);
    }
    canvas.text(area.left + (area.width - text_width(labels.x_axis, kPlotTextSize)) / 2,
                canvas.height() - 16 - kPlotTextSize, labels.x_axis, kPlotTextSize, kFaintInk);
    return area;
}

void draw_axes(Canvas& canvas, const Area& area, double zero_y) {
    canvas.fill(area.left, static_cast<int>(zero_y), area.width, 1, kInk);
    canvas.fill(area.left, area.top, 1, area.height, kInk);
}

void draw_x_label(Canvas& canvas, const Area& area, double x, const std::string& text) {
    canvas.text(x - text_width(text, kPlotTextSize) / 2, area.top + area.height + 8, text, kPlotTextSize,
                kFaintInk);
}

std::vector<std::string> legend_of(const std::vector<LineSeries>& series) {
    std::vector<std::string> out;
    for (const LineSeries& one : series) out.push_back(one.label);
    return out;
}

}  // namespace

std::vector<double> nice_ticks(double low, double high, int n) {
    if (!(low < high) || n < 1) return {};
    const double rough = (high - low) / n;
    const double power = std::pow(10.0, std::floor(std::log10(rough)));
    double step = 10 * power;
    for (const double factor : {5.0, 2.0, 1.0}) {
        if (factor * power >= rough * 0.999) step = factor * power;
    }
    std::vector<double> ticks;
    const double first = std::floor(low / step + 1e-9);
    for (double k = first; ticks.size() < 100; ++k) {
        ticks.push_back(k * step);
        if (k * step >= high - step * 1e-9) break;
    }
    return ticks;
}

Result<Canvas> draw_line_plot(const std::vector<LineSeries>& series, const PlotLabels& labels,
                              const PlotSize& size) {
    CLASP_RETURN_IF_ERROR(check_size(size));
    bool is_empty = true;
    Point low;
    Point high;
    for (const LineSeries& one : series) {
        for (const Point p : one.points) {
            if (!std::isfinite(p.x) || !std::isfinite(p.y)) return not_finite(one.label);
            low = is_empty ? p : Point{std::min(low.x, p.x), std::min(low.y, p.y)};
            high = is_empty ? p : Point{std::max(high.x, p.x), std::max(high.y, p.y)};
            is_empty = false;
        }
    }
    if (is_empty) return Status(Code::InvalidArgument, "the plot \"" + labels.title + "\" has no points");
    const Axis x_axis = make_axis(low.x, high.x, 7);
    const Axis y_axis = make_axis(low.y, high.y, 6);
    CLASP_ASSIGN_OR_RETURN(Canvas canvas, Canvas::make(size.width, size.height));
    const Area area = draw_frame(canvas, labels, legend_of(series), y_axis);
    for (const double tick : x_axis.ticks) {
        const double at = area.x(x_axis.part(tick));
        canvas.fill(static_cast<int>(at), area.top, 1, area.height, kGridLine);
        draw_x_label(canvas, area, at, number(tick));
    }
    draw_axes(canvas, area, area.top + area.height);
    for (std::size_t i = 0; i < series.size(); ++i) {
        const auto place = [&](Point p) { return Point{area.x(x_axis.part(p.x)), area.y(y_axis.part(p.y))}; };
        const auto& points = series[i].points;
        for (std::size_t k = 0; k < points.size(); ++k) {
            const Point at = place(points[k]);
            if (k > 0) canvas.line(place(points[k - 1]), at, 2.2, colour_of(i));
            canvas.line(at, at, 7, colour_of(i));
        }
    }
    return canvas;
}

}  // namespace clasp::draw
