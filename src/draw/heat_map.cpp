#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>

#include "draw/grid_panel.h"
#include "draw/token_map.h"

namespace clasp::draw {

namespace {

constexpr int kHeatMargin = 24;
constexpr int kScaleWidth = 18;
constexpr double kHeatTextSize = 12;
constexpr double kCover = 0.62;

// From dark violet over red to light yellow, lightness rising all the way.
Colour heat(double t) {
    constexpr std::array<std::array<double, 3>, 5> kStops = {
        {{20, 16, 60}, {98, 25, 115}, {190, 50, 90}, {243, 130, 50}, {252, 240, 150}}};
    const double at = std::clamp(t, 0.0, 1.0) * (kStops.size() - 1);
    const auto low = std::min(static_cast<std::size_t>(at), kStops.size() - 2);
    const double part = at - static_cast<double>(low);
    Colour colour{};
    for (std::size_t c = 0; c < 3; ++c) {
        colour[c] =
            static_cast<std::uint8_t>(std::lround(kStops[low][c] * (1 - part) + kStops[low + 1][c] * part));
    }
    return colour;
}

std::string number(float value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.3g", static_cast<double>(value));
    return text.data();
}

Status check(const HeatMap& map) {
    const auto n_tokens = static_cast<std::size_t>(map.rows) * static_cast<std::size_t>(map.columns);
    if (map.values.size() != n_tokens) {
        return {Code::InvalidArgument, "the heat map \"" + map.title + "\" has " +
                                           std::to_string(map.values.size()) + " values, but the grid has " +
                                           std::to_string(n_tokens) + " tokens"};
    }
    for (std::size_t i = 0; i < map.values.size(); ++i) {
        if (!std::isfinite(map.values[i])) {
            return {Code::InvalidArgument, "the heat map \"" + map.title +
                                               "\" has a value that is not finite at token " +
                                               std::to_string(i)};
        }
    }
    return ok_status();
}

}  // namespace

Result<Canvas> draw_heat_map(const HeatMap& map) {
    CLASP_ASSIGN_OR_RETURN(const GridPanel panel, make_grid_panel(map.rows, map.columns));
    CLASP_RETURN_IF_ERROR(check(map));
    CLASP_ASSIGN_OR_RETURN(const Image picture, panel_picture(map.picture, map.frame, panel));
    const auto [lowest, highest] = std::minmax_element(map.values.begin(), map.values.end());
    const double low = static_cast<double>(*lowest);
    const double span = static_cast<double>(*highest) - low;
    const double label_width =
        std::max(text_width(number(*lowest), kHeatTextSize), text_width(number(*highest), kHeatTextSize));
    const int top = kHeatMargin + static_cast<int>(line_height(kHeatTextSize));
    const int scale_left = kHeatMargin + panel.width() + 16;
    CLASP_ASSIGN_OR_RETURN(
        Canvas canvas,
        Canvas::make(scale_left + kScaleWidth + 8 + static_cast<int>(std::ceil(label_width)) + kHeatMargin,
                     top + panel.height() + kHeatMargin));
    canvas.text(kHeatMargin, kHeatMargin - 4, map.title, kHeatTextSize, kInk);
    canvas.paste(picture, kHeatMargin, top);
    for (int row = 0; row < panel.rows; ++row) {
        for (int column = 0; column < panel.columns; ++column) {
            const auto value = static_cast<double>(map.values[panel.index(row, column)]);
            canvas.fill(kHeatMargin + column * panel.cell, top + row * panel.cell, panel.cell, panel.cell,
                        heat(span > 0 ? (value - low) / span : 0.5), kCover);
        }
    }
    for (int y = 0; y < panel.height(); ++y) {
        canvas.fill(scale_left, top + y, kScaleWidth, 1, heat(1.0 - (y + 0.5) / panel.height()));
    }
    const double label_left = scale_left + kScaleWidth + 8;
    canvas.text(label_left, top, number(*highest), kHeatTextSize, kInk);
    canvas.text(label_left, top + panel.height() - kHeatTextSize, number(*lowest), kHeatTextSize, kInk);
    return canvas;
}

}  // namespace clasp::draw
