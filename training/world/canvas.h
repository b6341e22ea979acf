// An RGB raster with anti-aliased fills given by signed distances, and a second plane that
// remembers which item owns each pixel (0 = background).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace clasp::world {

struct Rgb {
    float r = 0, g = 0, b = 0;  // 0..255
};

constexpr Rgb blend(Rgb a, Rgb b, float t) {
    return {a.r + (b.r - a.r) * t, a.g + (b.g - a.g) * t, a.b + (b.b - a.b) * t};
}

struct Point {
    float x = 0, y = 0;
};

class Canvas {
   public:
    explicit Canvas(int side);

    int side() const { return side_; }
    std::vector<std::uint8_t>& rgb() { return rgb_; }
    const std::vector<std::uint8_t>& rgb() const { return rgb_; }
    const std::vector<std::uint8_t>& owner() const { return owner_; }

    // Fills where distance(x, y) < 0 inside the box around (cx, cy); tone(x, y) gives the colour.
    // Distances are in pixels; the edge is one pixel soft.
    template <typename Distance, typename Tone>
    void fill(float cx, float cy, float half_w, float half_h, std::uint8_t owner, const Distance& distance,
              const Tone& tone) {
        const int x0 = std::max(0, static_cast<int>(std::floor(cx - half_w)));
        const int x1 = std::min(side_ - 1, static_cast<int>(std::ceil(cx + half_w)));
        const int y0 = std::max(0, static_cast<int>(std::floor(cy - half_h)));
        const int y1 = std::min(side_ - 1, static_cast<int>(std::ceil(cy + half_h)));
        for (int y = y0; y <= y1; ++y)
            for (int x = x0; x <= x1; ++x) {
                const float px = static_cast<float>(x) + 0.5F;
                const float py = static_cast<float>(y) + 0.5F;
                const float cover = std::clamp(0.5F - distance(px, py), 0.0F, 1.0F);
                if (cover > 0.0F) paint(x, y, tone(px, py), cover, owner);
            }
    }

    // The same with one colour.
    template <typename Distance>
    void fill(float cx, float cy, float half_w, float half_h, std::uint8_t owner, const Distance& distance,
              Rgb colour) {
        fill(cx, cy, half_w, half_h, owner, distance, [&](float, float) { return colour; });
    }

    // A line with round ends.
    void stroke(Point a, Point b, float radius, Rgb colour, std::uint8_t owner);
    void disc(Point centre, float radius, Rgb colour, std::uint8_t owner);

    void paint(int x, int y, Rgb colour, float cover, std::uint8_t owner) {
        const std::size_t at =
            static_cast<std::size_t>(y) * static_cast<std::size_t>(side_) + static_cast<std::size_t>(x);
        std::uint8_t* p = &rgb_[3 * at];
        const float channels[3] = {colour.r, colour.g, colour.b};
        for (int c = 0; c < 3; ++c) {
            const auto old = static_cast<float>(p[c]);
            p[c] = static_cast<std::uint8_t>(old + (channels[c] - old) * cover + 0.5F);
        }
        if (cover >= 0.5F && owner != 0) owner_[at] = owner;
    }

   private:
    int side_;
    std::vector<std::uint8_t> rgb_;
    std::vector<std::uint8_t> owner_;
};

// Signed distance to a line with round ends, and to a closed polygon (even-odd).
float capsule_distance(Point p, Point a, Point b, float radius);
float polygon_distance(Point p, std::span<const Point> corners);

}  // namespace clasp::world
