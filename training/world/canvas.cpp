#include "world/canvas.h"

#include <limits>

namespace clasp::world {

Canvas::Canvas(int side)
    : side_(side),
      rgb_(static_cast<std::size_t>(side) * static_cast<std::size_t>(side) * 3),
      owner_(static_cast<std::size_t>(side) * static_cast<std::size_t>(side)) {}

void Canvas::stroke(Point a, Point b, float radius, Rgb colour, std::uint8_t owner) {
    const Point middle{(a.x + b.x) / 2, (a.y + b.y) / 2};
    fill(
        middle.x, middle.y, std::abs(a.x - b.x) / 2 + radius + 1, std::abs(a.y - b.y) / 2 + radius + 1, owner,
        [&](float x, float y) {
            return capsule_distance({x, y}, a, b, radius);
        },
        colour);
}

void Canvas::disc(Point centre, float radius, Rgb colour, std::uint8_t owner) {
    fill(
        centre.x, centre.y, radius + 1, radius + 1, owner,
        [&](float x, float y) {
            const float dx = x - centre.x;
            const float dy = y - centre.y;
            return std::sqrt(dx * dx + dy * dy) - radius;
        },
        colour);
}

float capsule_distance(Point p, Point a, Point b, float radius) {
    const Point ap{p.x - a.x, p.y - a.y};
    const Point ab{b.x - a.x, b.y - a.y};
    const float length = ab.x * ab.x + ab.y * ab.y;
    const float t = length > 0 ? std::clamp((ap.x * ab.x + ap.y * ab.y) / length, 0.0F, 1.0F) : 0.0F;
    const float dx = ap.x - ab.x * t;
    const float dy = ap.y - ab.y * t;
    return std::sqrt(dx * dx + dy * dy) - radius;
}

float polygon_distance(Point p, std::span<const Point> corners) {
    float nearest = std::numeric_limits<float>::max();
    bool inside = false;
    for (std::size_t i = 0, j = corners.size() - 1; i < corners.size(); j = i++) {
        const Point a = corners[j];
        const Point b = corners[i];
        const Point ab{b.x - a.x, b.y - a.y};
        const Point ap{p.x - a.x, p.y - a.y};
        const float t = std::clamp((ap.x * ab.x + ap.y * ab.y) / (ab.x * ab.x + ab.y * ab.y), 0.0F, 1.0F);
        const float dx = ap.x - ab.x * t;
        const float dy = ap.y - ab.y * t;
        nearest = std::min(nearest, dx * dx + dy * dy);
        if ((a.y > p.y) != (b.y > p.y) && p.x < a.x + ab.x * (p.y - a.y) / ab.y) inside = !inside;
    }
    return inside ? -std::sqrt(nearest) : std::sqrt(nearest);
}

}  // namespace clasp::world
