#include "world/clip.h"

#include <bit>

#include "world/random.h"

namespace clasp::world {
namespace {

constexpr std::string_view kVerbs[] = {"stays still",    "moves", "appears", "vanishes",
                                       "changes colour", "grows", "shrinks", "blinks"};
constexpr std::string_view kPluralVerbs[] = {"stay still",    "move", "appear", "vanish",
                                             "change colour", "grow", "shrink", "blink"};
constexpr std::string_view kWayNames[] = {"left", "right", "up", "down"};

}  // namespace

std::string_view verb(Event value) {
    return kVerbs[static_cast<std::size_t>(value)];
}
std::string_view plural_verb(Event value) {
    return kPluralVerbs[static_cast<std::size_t>(value)];
}
std::string_view name(Way value) {
    return kWayNames[static_cast<std::size_t>(value)];
}

bool is_seen(const Actor& actor, int frame) {
    switch (actor.event) {
        case Event::Appears: return frame >= actor.frame;
        case Event::Vanishes: return frame < actor.frame;
        case Event::Blinks: return ((actor.dark >> frame) & 1) == 0;
        default: return true;
    }
}

int blinks(const Actor& actor) {
    return actor.event == Event::Blinks ? std::popcount(actor.dark) : 0;
}

Item item_at(const Actor& actor, int frame) {
    Item item = actor.item;
    const bool is_later = frame >= actor.frame;
    switch (actor.event) {
        case Event::Moves: {
            const float gone = actor.distance * static_cast<float>(frame) / (kClipFrames - 1);
            if (actor.way == Way::Left) item.x -= gone;
            if (actor.way == Way::Right) item.x += gone;
            if (actor.way == Way::Up) item.y -= gone;
            if (actor.way == Way::Down) item.y += gone;
            break;
        }
        case Event::Recolours:
            if (is_later) item.colour = actor.later;
            break;
        case Event::Grows:
        case Event::Shrinks:
            if (is_later) {
                item.half_w = item.half_h = actor.later_half;
                item.size = actor.event == Event::Grows ? Size::Large : Size::Small;
            }
            break;
        default: break;
    }
    return item;
}

Scene scene_at(const Clip& clip, int frame) {
    Scene scene = clip.stage;
    for (const Actor& actor : clip.actors)
        if (is_seen(actor, frame)) scene.items.push_back(item_at(actor, frame));
    return scene;
}

std::uint64_t signature(const Clip& clip) {
    std::uint64_t hash = 0xc119;
    for (int frame = 0; frame < kClipFrames; ++frame) hash = mix_seed(hash, signature(scene_at(clip, frame)));
    return hash;
}

}  // namespace clasp::world
