// Six tools. Each is drawn on a box of 36 x 36 units around the origin.
#include "world/painter.h"
#include "world/palette.h"

namespace clasp::world {
namespace {

class ToolPen {
   public:
    ToolPen(Canvas& canvas, const Item& item, std::uint8_t owner)
        : canvas_(canvas),
          item_(item),
          owner_(owner),
          scale_(item.half_w / 18.0F),
          cosine_(std::cos(item.angle)),
          sine_(std::sin(item.angle)) {}

    void line(Point a, Point b, float radius, Rgb colour) {
        canvas_.stroke(at(a), at(b), radius * scale_, colour, owner_);
    }
    // A line in the item's colour with an outline.
    void bold(Point a, Point b, float radius) {
        line(a, b, radius, outline_of(item_.colour));
        line(a, b, radius - 1.2F, rgb_of(item_.colour));
    }
    void ring(Point centre, float radius, float width) {
        const Point c = at(centre);
        const auto draw = [&](float half, Rgb colour) {
            const float extent = (radius + half) * scale_ + 1;
            canvas_.fill(
                c.x, c.y, extent, extent, owner_,
                [&](float x, float y) {
                    const float d = std::hypot(x - c.x, y - c.y);
                    return std::abs(d - radius * scale_) - half * scale_;
                },
                colour);
        };
        draw(width, outline_of(item_.colour));
        draw(width - 1.0F, rgb_of(item_.colour));
    }
    // The upper half of a disc: the canopy of an umbrella.
    void canopy(Point centre, float radius) {
        const auto draw = [&](float inset, Rgb colour) {
            canvas_.fill(
                item_.x, item_.y, item_.half_w, item_.half_h, owner_,
                [&](float x, float y) {
                    const Point p = back({x, y});
                    const float d = std::hypot(p.x - centre.x, p.y - centre.y) - radius;
                    return (std::max(d, p.y - centre.y) + inset) * scale_;
                },
                colour);
        };
        draw(0, outline_of(item_.colour));
        draw(1.2F, rgb_of(item_.colour));
    }

   private:
    Point at(Point p) const {
        const float x = item_.mirrored ? -p.x : p.x;
        return {item_.x + scale_ * (x * cosine_ - p.y * sine_),
                item_.y + scale_ * (x * sine_ + p.y * cosine_)};
    }
    Point back(Point p) const {
        const float x = (p.x - item_.x) / scale_;
        const float y = (p.y - item_.y) / scale_;
        const float u = x * cosine_ + y * sine_;
        return {item_.mirrored ? -u : u, y * cosine_ - x * sine_};
    }

    Canvas& canvas_;
    const Item& item_;
    std::uint8_t owner_;
    float scale_, cosine_, sine_;
};

}  // namespace

void paint_tool(Canvas& canvas, const Item& item, std::uint8_t owner) {
    ToolPen pen(canvas, item, owner);
    switch (item.tool()) {
        case Tool::Hammer:
            pen.line({0, -6}, {0, 14}, 2.2F, kWood);
            pen.bold({-8, -8}, {8, -8}, 4.8F);
            break;
        case Tool::Scissors:
            pen.line({-7, 2}, {8, -14}, 1.9F, kSteel);
            pen.line({7, 2}, {-8, -14}, 1.9F, kSteel);
            pen.ring({-6, 8}, 4.6F, 2.2F);
            pen.ring({6, 8}, 4.6F, 2.2F);
            break;
        case Tool::Key:
            pen.bold({0, -2}, {0, 13}, 2.8F);
            pen.bold({1, 12}, {7, 12}, 2.5F);
            pen.bold({1, 6}, {5, 6}, 2.4F);
            pen.ring({0, -8}, 5.0F, 2.7F);
            break;
        case Tool::Brush:
            pen.line({0, 0}, {0, 14}, 2.0F, kWood);
            pen.line({-5, -1}, {5, -1}, 2.0F, kSteel);
            pen.bold({-4, -6}, {4, -6}, 3.6F);
            pen.bold({-4, -10}, {4, -10}, 3.6F);
            pen.line({-4, -8}, {4, -8}, 2.4F, rgb_of(item.colour));
            break;
        case Tool::Spoon:
            pen.bold({0, 0}, {0, 14}, 2.4F);
            pen.bold({0, -10}, {0, -5}, 6.2F);
            break;
        case Tool::Umbrella:
            pen.line({0, -4}, {0, 12}, 1.5F, kInk);
            pen.line({0, 12}, {4, 14}, 1.5F, kInk);
            pen.line({4, 14}, {6, 11}, 1.5F, kInk);
            pen.canopy({0, 0}, 14.5F);
            break;
    }
}

}  // namespace clasp::world
