// What a moving scene contains: a stage that stays as it is, and actors of which most do something over eight
// frames. Plain data, as a still scene is: the painter draws every frame from it, and a test can recompute
// every answer.
#pragma once

#include "world/scene.h"

namespace clasp::world {

inline constexpr int kClipFrames = 8;
inline constexpr int kClipSide = 8;  // patches per side of a frame: 112 pixels

enum class Event : std::uint8_t { Stays, Moves, Appears, Vanishes, Recolours, Grows, Shrinks, Blinks };
enum class Way : std::uint8_t { Left, Right, Up, Down };

inline constexpr int kEvents = 8;
inline constexpr int kWays = 4;
inline constexpr int kMostBlinks = 3;  // dark frames, no two in a row and neither the first nor the last

std::string_view verb(Event value);         // "changes colour"
std::string_view plural_verb(Event value);  // "change colour"
std::string_view name(Way value);

// A shape and what happens to it.
struct Actor {
    Item item;  // at the start; where and as it will be if it is not to be seen yet
    Event event = Event::Stays;
    Way way = Way::Left;         // Moves
    float distance = 0;          // Moves: pixels from the first frame to the last
    int frame = 0;               // Appears, Vanishes, Recolours, Grows, Shrinks: the first that differs
    Colour later = Colour::Red;  // Recolours
    float later_half = 0;        // Grows, Shrinks: half extent from `frame` on
    std::uint8_t dark = 0;       // Blinks: bit f says that frame f does not show it
};

// What the clip's own question is about; see compose_clip.
struct Subject {
    int actor = -1;  // index, -1 if it is about all of them
    Event event = Event::Stays;
};

struct Clip {
    Split split = Split::Train;
    std::uint64_t seed = 0;
    std::uint64_t index = 0;
    Scene stage;                // place, sky and background; without items
    std::vector<Actor> actors;  // of different shapes
    Subject subject;
};

bool is_seen(const Actor& actor, int frame);
int blinks(const Actor& actor);
// The actor in this frame, whether it is seen or not.
Item item_at(const Actor& actor, int frame);
// The frame as a still scene: the actors that are seen, in their order.
Scene scene_at(const Clip& clip, int frame);

// 64-bit hash of everything that the painter reads for any frame.
std::uint64_t signature(const Clip& clip);

}  // namespace clasp::world
