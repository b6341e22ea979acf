#include "world/compose.h"

#include <algorithm>
#include <cmath>

#include "world/questions.h"
#include "world/random.h"

namespace clasp::world {
namespace {

constexpr float kGap = 3.0F;  // pixels kept free between items
constexpr int kMaxCount = 6;

// How many of each kind a scene gets.
struct Plan {
    int people = 0;
    int tools = 0;
    int signs = 0;
    int others = 0;  // shapes beside the counted group
    bool counting = true;
};

class Composer {
   public:
    Composer(Split split, int side, int wanted_class, std::uint64_t key) : rng_(key), wanted_(wanted_class) {
        scene_.split = split;
        scene_.side = side;
    }

    // False when the drawn contents do not fit; the caller tries another draft.
    bool run(Scene& out) {
        draw_background();
        const Plan plan = make_plan();
        if (!place_sky_mark()) return false;
        for (int i = 0; i < plan.signs; ++i)
            if (!add_sign()) return false;
        for (int i = 0; i < plan.people; ++i)
            if (!add_person()) return false;
        for (int i = 0; i < plan.tools; ++i)
            if (!add_tool()) return false;
        if (!add_shapes(plan)) return false;
        out = std::move(scene_);
        return true;
    }

   private:
    bool is_test() const { return scene_.split == Split::Test; }
    bool is_small() const { return scene_.side < 12; }
    bool is_full() const { return scene_.side >= 20; }

    void draw_background() {
        scene_.place = static_cast<Place>(rng_.below(kPlaces));
        scene_.sky = static_cast<Sky>(rng_.below(kSkies));
        scene_.background_seed = rng_.next();
        const auto pixels = static_cast<float>(scene_.pixels());
        scene_.horizon = std::floor(pixels * rng_.range(0.26F, 0.36F));
    }

    int draw_number(float none, float one) {
        const float u = rng_.uniform();
        return u < none ? 0 : (u < none + one ? 1 : 2);
    }

    Plan make_plan() {
        Plan plan;
        if (is_small()) {
            // Too little room for everything: either a crowd to count or a mix of kinds.
            plan.counting = wanted_ == 5 || rng_.chance(0.35F);
            if (plan.counting) {
                const int extra = rng_.below(4);
                plan.people = extra == 0;
                plan.tools = extra == 1;
                plan.signs = extra == 2;
                plan.others = rng_.below(3);
            } else {
                plan.people = draw_number(0.45F, 0.45F);
                plan.tools = draw_number(0.45F, 0.45F);
                plan.signs = plan.people + plan.tools > 2 ? 0 : draw_number(0.5F, 0.5F);
                plan.others = 1 + rng_.below(3);
            }
        } else if (is_full()) {
            plan.people = draw_number(0.2F, 0.45F);
            plan.tools = draw_number(0.2F, 0.45F);
            plan.signs = draw_number(0.25F, 0.5F);
            plan.others = 2 + rng_.below(6);
        } else {
            plan.people = draw_number(0.25F, 0.5F);
            plan.tools = draw_number(0.25F, 0.5F);
            plan.signs = draw_number(0.3F, 0.5F);
            plan.others = 1 + rng_.below(5);
        }
        const bool small_crowd = is_small() && plan.counting;
        if (wanted_ == 2 && plan.signs == 0) {
            plan.signs = 1;
            if (is_small()) plan.people = plan.tools = 0;
        }
        if (wanted_ == 6 && plan.people == 0) {
            plan.people = 1;
            if (small_crowd) plan.tools = plan.signs = 0;
        }
        if (wanted_ == 7 && plan.tools == 0) {
            plan.tools = 1;
            if (small_crowd) plan.people = plan.signs = 0;
        }
        if (!plan.counting) plan.others = std::max(plan.others, wanted_ == 4 ? 2 : 1);
        return plan;
    }

    bool is_free(const Item& item) const {
        return std::ranges::none_of(scene_.items, [&](const Item& other) {
            return std::abs(item.x - other.x) < item.half_w + other.half_w + kGap &&
                   std::abs(item.y - other.y) < item.half_h + other.half_h + kGap;
        });
    }

    // Finds a free spot for the item between the rows top and bottom and adds it.
    bool place(Item item, float top, float bottom) {
        const auto pixels = static_cast<float>(scene_.pixels());
        const float x_low = item.half_w + 1;
        const float x_high = pixels - item.half_w - 1;
        const float y_low = top + item.half_h + 1;
        const float y_high = bottom - item.half_h - 1;
        if (x_high < x_low || y_high < y_low) return false;
        for (int attempt = 0; attempt < 60; ++attempt) {
            item.x = std::floor(rng_.range(x_low, x_high));
            item.y = std::floor(rng_.range(y_low, y_high));
            if (is_free(item)) {
                scene_.items.push_back(item);
                return true;
            }
        }
        return false;
    }

    bool place_anywhere(const Item& item) { return place(item, 0, static_cast<float>(scene_.pixels())); }

    bool place_sky_mark() {
        if (scene_.sky == Sky::Stars) return true;  // tiny dots of the background
        Item item;
        item.kind = Kind::SkyMark;
        item.variant = static_cast<std::uint8_t>(scene_.sky);
        item.mirrored = rng_.chance(0.5F);
        const float scale = is_small() ? 1.0F : rng_.range(1.1F, 1.6F);
        item.half_w = std::floor((scene_.sky == Sky::Clouds ? 17.0F : 10.0F) * scale);
        item.half_h = std::floor((scene_.sky == Sky::Clouds ? 9.0F : 10.0F) * scale);
        return place(item, 0, std::max(scene_.horizon, 2 * item.half_h + 3));
    }

    bool add_sign() {
        Item item;
        item.kind = Kind::Sign;
        constexpr Colour kBoards[] = {Colour::White, Colour::Yellow, Colour::Red, Colour::Blue,
                                      Colour::Green};
        do item.colour = kBoards[rng_.below(5)];
        while (has(Kind::Sign, item.colour));
        do {
            for (char& c : item.text)
                c = kSignCharacters[static_cast<std::size_t>(
                    rng_.below(static_cast<int>(kSignCharacters.size())))];
        } while (!is_test() && is_test_only_text(item.text));
        // Every character has a patch column of its own: one patch, or two when the sign is tall.
        item.size = rng_.chance(0.5F) ? Size::Large : Size::Small;
        const int rows = item.size == Size::Large ? 2 : 1;
        item.half_w = 3 * kPatch / 2.0F + 4;
        item.half_h = static_cast<float>(rows * kPatch) / 2.0F + 4;
        for (int attempt = 0; attempt < 60; ++attempt) {
            const int column = 1 + rng_.below(scene_.side - 4);
            const int row = 1 + rng_.below(scene_.side - rows - 1);
            item.x = static_cast<float>(column * kPatch) + 3 * kPatch / 2.0F;
            item.y = static_cast<float>(row * kPatch) + static_cast<float>(rows * kPatch) / 2.0F;
            if (is_free(item)) {
                scene_.items.push_back(item);
                return true;
            }
        }
        return false;
    }

    bool has(Kind kind, Colour colour) const {
        return std::ranges::any_of(
            scene_.items, [&](const Item& item) { return item.kind == kind && item.colour == colour; });
    }

    bool add_person() {
        Item item;
        item.kind = Kind::Person;
        item.variant = static_cast<std::uint8_t>(rng_.below(kPoses));
        do item.colour = static_cast<Colour>(rng_.below(kColours));
        while (has(Kind::Person, item.colour));
        item.mirrored = rng_.chance(0.5F);
        const float scale = is_small() ? 1.0F : rng_.range(1.0F, 1.35F);
        const bool lies = item.pose() == Pose::Sleeping;
        item.half_w = std::floor((lies ? 22.0F : 16.0F) * scale);
        item.half_h = std::floor((lies ? 12.0F : 22.0F) * scale);
        return place_anywhere(item);
    }

    bool add_tool() {
        Item item;
        item.kind = Kind::Tool;
        do item.variant = static_cast<std::uint8_t>(rng_.below(kTools));
        while (!is_test() && is_test_only(item.tool(), scene_.place));
        do item.colour = static_cast<Colour>(rng_.below(kColours));
        while (has(Kind::Tool, item.colour));
        item.mirrored = rng_.chance(0.5F);
        item.angle = rng_.range(-0.35F, 0.35F);
        const float scale = is_small() ? 1.0F : rng_.range(1.0F, 1.3F);
        item.half_w = item.half_h = std::floor(18.0F * scale);
        return place_anywhere(item);
    }

    Item draw_shape(float large_share) {
        Item item;
        item.kind = Kind::Shape;
        item.texture = static_cast<Texture>(rng_.below(kTextures));
        item.size = rng_.chance(large_share) ? Size::Large : Size::Small;
        const float radius = item.size == Size::Large ? rng_.range(19.0F, 23.0F) : rng_.range(9.5F, 11.5F);
        item.half_w = item.half_h = std::ceil(radius);
        item.angle = rng_.range(-0.25F, 0.25F);
        return item;
    }

    bool is_allowed(const Item& item) const { return is_test() || !is_test_only(item.shape(), item.colour); }

    void choose_target() {
        CountTarget& target = scene_.target;
        target.asked = true;
        target.count = 1 + rng_.below(kMaxCount);
        target.by = static_cast<CountBy>(rng_.below(3));
        do {
            target.shape = static_cast<Shape>(rng_.below(kShapes));
            target.colour = static_cast<Colour>(rng_.below(kColours));
        } while (!is_test() && is_test_only(target.shape, target.colour));
    }

    bool add_shapes(const Plan& plan) {
        if (plan.counting) {
            choose_target();
            const float large = is_small() ? (scene_.target.count < 3 ? 0.3F : 0.0F) : 0.45F;
            for (int i = 0; i < scene_.target.count; ++i)
                if (!place_anywhere(draw_member(large))) return false;
        }
        const float large = is_small() ? (plan.counting ? 0.15F : 0.5F) : 0.5F;
        for (int i = 0; i < plan.others; ++i)
            if (!place_anywhere(draw_other(large, plan.counting))) return false;
        return true;
    }

    Item draw_member(float large_share) {
        Item item = draw_shape(large_share);
        const CountTarget& target = scene_.target;
        do {
            item.variant = static_cast<std::uint8_t>(
                target.by == CountBy::Colour ? rng_.below(kShapes) : static_cast<int>(target.shape));
            item.colour =
                target.by == CountBy::Shape ? static_cast<Colour>(rng_.below(kColours)) : target.colour;
        } while (!is_allowed(item));
        return item;
    }

    // A shape that the counting question must not count; often a near-duplicate of one it counts.
    Item draw_other(float large_share, bool counting) {
        Item item = draw_shape(large_share);
        do {
            item.variant = static_cast<std::uint8_t>(rng_.below(kShapes));
            item.colour = static_cast<Colour>(rng_.below(kColours));
            if (counting && scene_.target.by == CountBy::ShapeAndColour) {
                const int twist = rng_.below(3);
                if (twist == 0) item.variant = static_cast<std::uint8_t>(scene_.target.shape);
                if (twist == 1) item.colour = scene_.target.colour;
            }
        } while (!is_allowed(item) || (counting && counts(scene_.target, item)));
        return item;
    }

    Random rng_;
    int wanted_;
    Scene scene_;
};

}  // namespace

Scene compose_scene(Split split, std::uint64_t seed, std::uint64_t index, int side) {
    const std::uint64_t key = mix_seed(mix_seed(seed, index), static_cast<std::uint64_t>(side));
    const int wanted = static_cast<int>(index % kClasses);
    for (std::uint64_t draft = 0;; ++draft) {
        Scene scene;
        Composer composer(split, side, wanted, mix_seed(key, draft));
        if (!composer.run(scene) || split_of(signature(scene)) != split) continue;
        scene.seed = seed;
        scene.index = index;
        if (!ask_many(scene, 1).empty()) return scene;
    }
}

}  // namespace clasp::world
