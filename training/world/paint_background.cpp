// Six places under four skies. Colours are muted and patches repeat, so that most of the picture
// is redundant, as it is in photographs.
#include <array>
#include <cmath>

#include "world/painter.h"
#include "world/palette.h"
#include "world/random.h"

namespace clasp::world {
namespace {

Rgb ground_of(Place place) {
    constexpr Rgb kTable[] = {{236, 220, 176}, {132, 164, 112}, {170, 172, 178},
                              {222, 178, 128}, {226, 234, 242}, {196, 188, 104}};
    return kTable[static_cast<std::size_t>(place)];
}

Rgb sky_of(Sky sky, float height) {  // height 0 at the top, 1 at the horizon
    switch (sky) {
        case Sky::Sun: return blend({120, 184, 236}, {198, 226, 246}, height);
        case Sky::Clouds: return blend({160, 174, 190}, {204, 212, 220}, height);
        case Sky::Moon: return blend({34, 42, 84}, {82, 88, 128}, height);
        case Sky::Stars: return blend({22, 26, 58}, {62, 62, 104}, height);
    }
    return {};
}

class Background {
   public:
    Background(Canvas& canvas, const Scene& scene)
        : canvas_(canvas),
          scene_(scene),
          rng_(scene.background_seed),
          size_(static_cast<float>(scene.pixels())),
          horizon_(scene.horizon) {}

    void paint() {
        flood();
        skyline();
        clutter();
        if (scene_.sky == Sky::Stars || scene_.sky == Sky::Moon) night_sky();
    }

   private:
    // Objects keep their own colours at night; only the surroundings darken.
    Rgb lit(Rgb colour) const { return scene_.is_night() ? blend(colour, {30, 36, 80}, 0.42F) : colour; }

    void flood() {
        const Rgb ground = lit(ground_of(scene_.place));
        const float phase = rng_.range(0.0F, 6.0F);
        const int side = canvas_.side();
        std::uint64_t noise = rng_.next();
        std::uint8_t* out = canvas_.rgb().data();
        for (int y = 0; y < side; ++y) {
            const auto fy = static_cast<float>(y);
            const bool is_sky = fy < horizon_;
            const Rgb base = is_sky ? sky_of(scene_.sky, fy / horizon_) : ground;
            const float depth = is_sky ? 0 : (fy - horizon_) / (size_ - horizon_);
            for (int x = 0; x < side; ++x) {
                const float tone =
                    is_sky ? 0 : pattern(static_cast<float>(x), fy, phase) - 8 * (0.5F - depth);
                noise = noise * 6364136223846793005ULL + 1442695040888963407ULL;
                const float grain = static_cast<float>(noise >> 40) * 0x1p-24F * 6 - 3;
                for (const float channel : {base.r, base.g, base.b})
                    *out++ = static_cast<std::uint8_t>(std::clamp(channel + tone + grain, 0.0F, 255.0F));
            }
        }
    }

    // The slow tone of the ground that tells places apart even in a single patch.
    float pattern(float x, float y, float phase) const {
        switch (scene_.place) {
            case Place::Desert: {  // ripples of sand
                const float wave = y * 0.45F + 0.04F * x + phase;
                const float saw = wave / 6.0F - std::floor(wave / 6.0F);
                return saw < 0.2F ? -14.0F : 2.0F;
            }
            case Place::Farm: {  // furrows
                const float row = (x * 0.5F + y) / 12.0F + phase;
                return row - std::floor(row) < 0.35F ? -22.0F : 6.0F;
            }
            case Place::City: {  // paving stones
                const auto ix = static_cast<int>(x + 4 * phase);
                const auto iy = static_cast<int>(y);
                return ix % 28 == 0 || iy % 28 == 0 ? -20.0F : 0.0F;
            }
            default: return 0;
        }
    }

    void skyline() {
        switch (scene_.place) {
            case Place::Beach: sea(); break;
            case Place::Forest: trees(); break;
            case Place::City: houses(); break;
            case Place::Desert: dunes(); break;
            case Place::Mountains: peaks(); break;
            case Place::Farm: fence(); break;
        }
    }

    void box(float x0, float y0, float x1, float y1, Rgb colour) {
        const float cx = (x0 + x1) / 2;
        const float cy = (y0 + y1) / 2;
        canvas_.fill(
            cx, cy, (x1 - x0) / 2, (y1 - y0) / 2, 0,
            [&](float x, float y) { return std::max(std::max(x0 - x, x - x1), std::max(y0 - y, y - y1)); },
            colour);
    }

    void wedge(float cx, float base, float half, float height, Rgb colour) {
        const std::array<Point, 3> corners = {Point{cx - half, base}, Point{cx, base - height},
                                              Point{cx + half, base}};
        canvas_.fill(
            cx, base - height / 2, half + 1, height / 2 + 1, 0,
            [&](float x, float y) {
                return polygon_distance({x, y}, corners);
            },
            colour);
    }

    void sea() {
        const float bottom = horizon_ + size_ * 0.1F;
        box(0, horizon_, size_, bottom, lit({96, 164, 190}));
        for (int i = 0; i < 6; ++i) {
            const float y = horizon_ + 3 + rng_.uniform() * (bottom - horizon_ - 6);
            const float x = rng_.uniform() * size_;
            canvas_.stroke({x, y}, {x + 14, y}, 0.8F, lit({206, 232, 240}), 0);
        }
    }

    void trees() {
        for (float x = rng_.range(0, 10); x < size_; x += rng_.range(14, 26)) {
            const float height = rng_.range(16, 26);
            box(x - 1.5F, horizon_ - 4, x + 1.5F, horizon_ + 4, lit({104, 82, 58}));
            wedge(x, horizon_ - 1, 8, height, lit({84, 122, 84}));
        }
    }

    void houses() {
        for (float x = 0; x < size_;) {
            const float width = rng_.range(18, 32);
            const float height = rng_.range(14, 30);
            const float shade = rng_.range(120, 156);
            box(x, horizon_ - height, x + width - 2, horizon_, lit({shade, shade, shade + 8}));
            for (float wx = x + 4; wx < x + width - 7; wx += 8)
                for (float wy = horizon_ - height + 4; wy < horizon_ - 5; wy += 8)
                    box(wx, wy, wx + 3, wy + 4, {226, 218, 176});
            x += width;
        }
    }

    void dunes() {
        for (int i = 0; i < 3; ++i) {
            const float x = size_ * (0.1F + 0.4F * static_cast<float>(i)) + rng_.range(-15, 15);
            wedge(x, horizon_ + 1, size_ * 0.28F, size_ * 0.07F, lit({206, 158, 108}));
        }
    }

    void peaks() {
        for (int i = 0; i < 3; ++i) {
            const float x = size_ * (0.12F + 0.38F * static_cast<float>(i)) + rng_.range(-12, 12);
            const float height = horizon_ * rng_.range(0.5F, 0.75F);
            wedge(x, horizon_, height * 1.1F, height, lit({136, 146, 164}));
            wedge(x, horizon_ - height * 0.62F, height * 0.42F, height * 0.38F, lit({242, 246, 250}));
        }
    }

    void fence() {
        const Rgb colour = lit({158, 132, 104});
        box(0, horizon_ - 9, size_, horizon_ - 7, colour);
        box(0, horizon_ - 4, size_, horizon_ - 2, colour);
        for (float x = rng_.range(2, 10); x < size_; x += 14)
            box(x, horizon_ - 12, x + 3, horizon_ + 2, colour);
    }

    // Pebbles and tufts: small marks that mean nothing.
    void clutter() {
        const int marks = scene_.side * scene_.side / 24;
        const Rgb ground = ground_of(scene_.place);
        for (int i = 0; i < marks; ++i) {
            const float x = rng_.uniform() * size_;
            const float y = horizon_ + 4 + rng_.uniform() * (size_ - horizon_ - 6);
            const Rgb colour = lit(blend(ground, {70, 80, 60}, rng_.range(0.2F, 0.4F)));
            if (rng_.chance(0.5F)) {
                canvas_.disc({x, y}, rng_.range(1.0F, 2.0F), colour, 0);
            } else {
                canvas_.stroke({x, y}, {x - 2, y - 4}, 0.7F, colour, 0);
                canvas_.stroke({x, y}, {x + 2, y - 4}, 0.7F, colour, 0);
            }
        }
    }

    void night_sky() {
        // Many stars mean "stars"; a moonlit sky has none.
        if (scene_.sky != Sky::Stars) return;
        const int count = scene_.side * 2;
        for (int i = 0; i < count; ++i) {
            const Point p{rng_.uniform() * size_, rng_.uniform() * (horizon_ - 8)};
            canvas_.disc(p, rng_.range(0.8F, 1.5F), {250, 246, 214}, 0);
        }
    }

    Canvas& canvas_;
    const Scene& scene_;
    Random rng_;
    float size_, horizon_;
};

}  // namespace

void paint_background(Canvas& canvas, const Scene& scene) {
    Background(canvas, scene).paint();
}

void paint_sky_mark(Canvas& canvas, const Item& item, std::uint8_t owner) {
    const float r = item.half_h;
    const float flip = item.mirrored ? -1.0F : 1.0F;
    switch (static_cast<Sky>(item.variant)) {
        case Sky::Sun:
            for (int i = 0; i < 8; ++i) {
                const float angle = static_cast<float>(i) * 0.7853982F;
                canvas.stroke({item.x, item.y},
                              {item.x + (r - 1) * std::cos(angle), item.y + (r - 1) * std::sin(angle)}, 0.9F,
                              {255, 206, 60}, owner);
            }
            canvas.disc({item.x, item.y}, r * 0.66F, {255, 226, 96}, owner);
            break;
        case Sky::Clouds:
            for (const Point p : {Point{-0.55F, 0.25F}, {0.5F, 0.3F}, {0.0F, -0.2F}, {0.1F, 0.4F}})
                canvas.disc({item.x + flip * p.x * item.half_w, item.y + p.y * r}, r * 0.55F, {242, 244, 248},
                            owner);
            break;
        case Sky::Moon:
            canvas.fill(item.x, item.y, r, r, owner,
                        [&](float x, float y) {
                            const float outer = std::hypot(x - item.x, y - item.y) - r * 0.9F;
                            const float inner =
                                std::hypot(x - item.x - flip * r * 0.45F, y - item.y + r * 0.1F) - r * 0.72F;
                            return std::max(outer, -inner);
                        },
                        {246, 238, 196});
            break;
        case Sky::Stars: break;
    }
}

}  // namespace clasp::world
