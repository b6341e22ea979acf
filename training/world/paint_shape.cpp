// The eight shapes with their textures.
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "world/painter.h"
#include "world/palette.h"

namespace clasp::world {
namespace {

constexpr float kPi = std::numbers::pi_v<float>;

std::vector<Point> star_corners() {
    std::vector<Point> corners;
    for (int i = 0; i < 10; ++i) {
        const float radius = i % 2 == 0 ? 1.0F : 0.45F;
        const float angle = -kPi / 2 + static_cast<float>(i) * kPi / 5;
        corners.push_back({radius * std::cos(angle), radius * std::sin(angle)});
    }
    return corners;
}

std::vector<Point> heart_corners() {
    std::vector<Point> corners;
    for (int i = 0; i < 20; ++i) {
        const float t = static_cast<float>(i) * kPi / 10;
        const float s = std::sin(t);
        const float x = 16 * s * s * s;
        const float y = 13 * std::cos(t) - 5 * std::cos(2 * t) - 2 * std::cos(3 * t) - std::cos(4 * t);
        corners.push_back({x / 17.0F, -(y + 2.5F) / 15.5F});
    }
    return corners;
}

// Corners of the polygonal shapes on the unit circle's box; empty for round shapes.
const std::vector<Point>& unit_corners(Shape shape) {
    static const std::array<std::vector<Point>, kShapes> kTable = [] {
        std::array<std::vector<Point>, kShapes> table;
        const auto at = [&](Shape s) -> std::vector<Point>& { return table[static_cast<std::size_t>(s)]; };
        at(Shape::Square) = {{-0.8F, -0.8F}, {0.8F, -0.8F}, {0.8F, 0.8F}, {-0.8F, 0.8F}};
        at(Shape::Triangle) = {{0, -0.95F}, {0.95F, 0.75F}, {-0.95F, 0.75F}};
        at(Shape::Star) = star_corners();
        at(Shape::Heart) = heart_corners();
        constexpr float a = 0.33F;
        constexpr float b = 0.92F;
        at(Shape::Cross) = {{-a, -b}, {a, -b}, {a, -a}, {b, -a}, {b, a},   {a, a},
                            {a, b},   {-a, b}, {-a, a}, {-b, a}, {-b, -a}, {-a, -a}};
        at(Shape::Diamond) = {{0, -1}, {0.62F, 0}, {0, 1}, {-0.62F, 0}};
        return table;
    }();
    return kTable[static_cast<std::size_t>(shape)];
}

// True where the texture shows its second tone; u, v in pixels from the item's centre.
bool is_second_tone(Texture texture, float u, float v) {
    if (texture == Texture::Striped) {
        const float phase = (u + v) / 7.0F;
        return phase - std::floor(phase) < 0.5F;
    }
    if (texture == Texture::Dotted) {
        const float cell = 7.0F;
        const float du = u - cell * std::round(u / cell);
        const float dv = v - cell * std::round(v / cell);
        return du * du + dv * dv < 4.6F;
    }
    return false;
}

}  // namespace

void paint_shape(Canvas& canvas, const Item& item, std::uint8_t owner) {
    const float radius = item.half_w - 0.5F;
    const float cosine = std::cos(item.angle);
    const float sine = std::sin(item.angle);
    std::vector<Point> corners = unit_corners(item.shape());
    // Rotated corners may leave the unit box a little; shrink so that the item stays in its box.
    const float scale = corners.empty() ? radius : radius * 0.94F;
    for (Point& corner : corners)
        corner = {item.x + scale * (corner.x * cosine - corner.y * sine),
                  item.y + scale * (corner.x * sine + corner.y * cosine)};
    const auto distance = [&](float x, float y) {
        if (!corners.empty()) return polygon_distance({x, y}, corners);
        const float dx = x - item.x;
        const float dy = y - item.y;
        const float from_centre = std::sqrt(dx * dx + dy * dy);
        if (item.shape() == Shape::Circle) return from_centre - radius * 0.95F;
        return std::abs(from_centre - radius * 0.68F) - radius * 0.3F;  // ring
    };
    const Rgb line = outline_of(item.colour);
    const Rgb first = rgb_of(item.colour);
    const Rgb second = second_tone_of(item.colour);
    const float width = item.size == Size::Large ? 2.0F : 1.4F;
    canvas.fill(item.x, item.y, item.half_w, item.half_h, owner, distance, [&](float x, float y) {
        if (distance(x, y) > -width) return line;
        return is_second_tone(item.texture, x - item.x, y - item.y) ? second : first;
    });
}

}  // namespace clasp::world
