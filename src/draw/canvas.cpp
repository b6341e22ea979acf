#include "draw/canvas.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "image/limits.h"

namespace clasp::draw {

namespace {

constexpr int kMaxSide = 16384;

double distance_to_segment(Point p, Point a, Point b) {
    const double dx = b.x - a.x;
    const double dy = b.y - a.y;
    const double length_squared = dx * dx + dy * dy;
    double t = 0;
    if (length_squared > 0) t = std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / length_squared, 0.0, 1.0);
    return std::hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

std::string encode(char32_t c) {
    std::string out;
    if (c < 0x80) {
        out += static_cast<char>(c);
    } else if (c < 0x800) {
        out += static_cast<char>(0xC0 | (c >> 6));
        out += static_cast<char>(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        out += static_cast<char>(0xE0 | (c >> 12));
        out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
        out += static_cast<char>(0x80 | (c & 0x3F));
    } else {
        out += static_cast<char>(0xF0 | (c >> 18));
        out += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
        out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
        out += static_cast<char>(0x80 | (c & 0x3F));
    }
    return out;
}

double advance(char32_t c) {
    return glyph_of(c).width + kGlyphGap;
}

}  // namespace

Result<Canvas> Canvas::make(int width, int height, const Colour& colour) {
    if (width < 1 || height < 1 || width > kMaxSide || height > kMaxSide) {
        return Status(Code::InvalidArgument, "a drawing of " + std::to_string(width) + " x " +
                                                 std::to_string(height) + " pixels is outside 1 to " +
                                                 std::to_string(kMaxSide) + " per side");
    }
    CLASP_ASSIGN_OR_RETURN(Image image, image::make_image(static_cast<std::uint64_t>(width),
                                                          static_cast<std::uint64_t>(height), 0));
    for (std::size_t i = 0; i < image.rgb.size(); i += 3) std::copy_n(colour.data(), 3, image.rgb.data() + i);
    return Canvas(std::move(image));
}

Colour Canvas::at(int x, int y) const {
    const std::size_t index =
        (static_cast<std::size_t>(y) * static_cast<std::size_t>(width()) + static_cast<std::size_t>(x)) * 3;
    return {image_.rgb[index], image_.rgb[index + 1], image_.rgb[index + 2]};
}

void Canvas::blend(int x, int y, const Colour& colour, double alpha) {
    if (x < 0 || y < 0 || x >= width() || y >= height()) return;
    const std::size_t index =
        (static_cast<std::size_t>(y) * static_cast<std::size_t>(width()) + static_cast<std::size_t>(x)) * 3;
    for (std::size_t c = 0; c < 3; ++c) {
        std::uint8_t& value = image_.rgb[index + c];
        value = static_cast<std::uint8_t>(std::lround(value + (colour[c] - value) * alpha));
    }
}

void Canvas::fill(int x, int y, int width, int height, const Colour& colour, double alpha) {
    for (int row = std::max(y, 0); row < std::min(y + height, this->height()); ++row) {
        for (int column = std::max(x, 0); column < std::min(x + width, this->width()); ++column) {
            blend(column, row, colour, alpha);
        }
    }
}

void Canvas::outline(int x, int y, int width, int height, int thickness, const Colour& colour, double alpha) {
    fill(x, y, width, thickness, colour, alpha);
    fill(x, y + height - thickness, width, thickness, colour, alpha);
    fill(x, y + thickness, thickness, height - 2 * thickness, colour, alpha);
    fill(x + width - thickness, y + thickness, thickness, height - 2 * thickness, colour, alpha);
}

void Canvas::line(Point from, Point to, double thickness, const Colour& colour, double alpha) {
    stroke({from, to}, thickness, colour, alpha);
}

void Canvas::stroke(const std::vector<Point>& points, double thickness, const Colour& colour, double alpha) {
    const double reach = thickness / 2 + 1;
    Point low{std::numeric_limits<double>::max(), std::numeric_limits<double>::max()};
    Point high{std::numeric_limits<double>::lowest(), std::numeric_limits<double>::lowest()};
    for (const Point p : points) {
        low = {std::min(low.x, p.x), std::min(low.y, p.y)};
        high = {std::max(high.x, p.x), std::max(high.y, p.y)};
    }
    const int first_x = static_cast<int>(std::clamp(low.x - reach, 0.0, 1.0 * width()));
    const int first_y = static_cast<int>(std::clamp(low.y - reach, 0.0, 1.0 * height()));
    const int end_x = static_cast<int>(std::clamp(high.x + reach + 1, 0.0, 1.0 * width()));
    const int end_y = static_cast<int>(std::clamp(high.y + reach + 1, 0.0, 1.0 * height()));
    for (int y = first_y; y < end_y; ++y) {
        for (int x = first_x; x < end_x; ++x) {
            const Point centre{x + 0.5, y + 0.5};
            double distance = distance_to_segment(centre, points.front(), points.front());
            for (std::size_t i = 1; i < points.size(); ++i) {
                distance = std::min(distance, distance_to_segment(centre, points[i - 1], points[i]));
            }
            const double cover = std::clamp(thickness / 2 + 0.5 - distance, 0.0, 1.0);
            if (cover > 0) blend(x, y, colour, cover * alpha);
        }
    }
}

void Canvas::paste(const Image& picture, int x, int y) {
    for (int row = 0; row < picture.height; ++row) {
        for (int column = 0; column < picture.width; ++column) {
            const std::size_t index =
                (static_cast<std::size_t>(row) * static_cast<std::size_t>(picture.width) +
                 static_cast<std::size_t>(column)) *
                3;
            blend(x + column, y + row, {picture.rgb[index], picture.rgb[index + 1], picture.rgb[index + 2]},
                  1.0);
        }
    }
}

double Canvas::text(double x, double y, std::string_view utf8, double size, const Colour& colour) {
    const double unit = size / kCapHeight;
    const double thickness = std::max(1.2, 1.45 * unit);
    double pen = x;
    for (const char32_t c : decode_text(utf8)) {
        const Glyph glyph = glyph_of(c);
        for (const auto& points : glyph.strokes) {
            std::vector<Point> placed;
            for (const Point p : points) placed.push_back({pen + p.x * unit, y + p.y * unit});
            // Dots are a little heavier than lines, or they vanish.
            const bool is_dot =
                points.size() == 2 && points[0].x == points[1].x && points[0].y == points[1].y;
            stroke(placed, is_dot ? thickness * 1.4 : thickness, colour, 1.0);
        }
        pen += (glyph.width + kGlyphGap) * unit;
    }
    return pen - x;
}

double text_width(std::string_view utf8, double size) {
    double units = 0;
    for (const char32_t c : decode_text(utf8)) units += advance(c);
    return units * size / kCapHeight;
}

std::vector<std::string> wrap_text(std::string_view utf8, double size, double width, std::size_t max_lines) {
    const double limit = width * kCapHeight / size;
    std::vector<std::string> lines;
    std::string line;
    std::string word;
    double line_units = 0;
    double word_units = 0;
    const auto end_line = [&] {
        lines.push_back(std::exchange(line, {}));
        line_units = 0;
    };
    const auto end_word = [&] {
        if (line_units + word_units > limit && !line.empty()) {
            while (!line.empty() && line.back() == ' ') line.pop_back();
            end_line();
        }
        line += std::exchange(word, {});
        line_units += std::exchange(word_units, 0);
    };
    for (const char32_t c : decode_text(utf8)) {
        if (c == '\n' || c == '\r') {
            end_word();
            if (c == '\n') end_line();
            continue;
        }
        const double units = advance(c);
        if (word_units + units > limit && !word.empty()) end_word();
        word += encode(c);
        word_units += units;
        if (c == ' ') end_word();
    }
    end_word();
    if (!line.empty() || lines.empty()) end_line();
    if (lines.size() > max_lines) {
        lines.resize(max_lines);
        if (!lines.empty()) lines.back() += "...";
    }
    return lines;
}

}  // namespace clasp::draw
