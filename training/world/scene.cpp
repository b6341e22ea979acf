#include "world/scene.h"

#include <bit>

#include "world/random.h"

namespace clasp::world {
namespace {

constexpr std::string_view kSplitNames[] = {"train", "calibrate", "test"};
constexpr std::string_view kShapeNames[] = {"circle", "square", "triangle", "star",
                                            "heart",  "cross",  "ring",     "diamond"};
constexpr std::string_view kColourNames[] = {"red",  "orange", "yellow", "green",
                                             "blue", "purple", "black",  "white"};
constexpr std::string_view kTextureNames[] = {"plain", "striped", "dotted"};
constexpr std::string_view kSizeNames[] = {"small", "large"};
constexpr std::string_view kPlaceNames[] = {"beach", "forest", "city", "desert", "mountains", "farm"};
constexpr std::string_view kSkyNames[] = {"sun", "clouds", "moon", "stars"};
constexpr std::string_view kPoseNames[] = {"running", "sitting", "jumping", "waving", "sleeping"};
constexpr std::string_view kToolNames[] = {"hammer", "scissors", "key", "brush", "spoon", "umbrella"};
constexpr std::string_view kPurposes[] = {"hitting nails",  "cutting paper", "opening doors",
                                          "painting walls", "eating soup",   "keeping dry"};
constexpr std::string_view kClassNames[] = {"object",   "attribute", "text",     "scene",  "spatial",
                                            "counting", "action",    "function", "default"};

template <typename Table, typename Value>
std::string_view look_up(const Table& table, Value value) {
    return table[static_cast<std::size_t>(value)];
}

std::uint64_t mix_float(std::uint64_t hash, float value) {
    return mix_seed(hash, std::bit_cast<std::uint32_t>(value));
}

}  // namespace

std::string_view name(Split value) {
    return look_up(kSplitNames, value);
}
std::string_view name(Shape value) {
    return look_up(kShapeNames, value);
}
std::string_view name(Colour value) {
    return look_up(kColourNames, value);
}
std::string_view name(Texture value) {
    return look_up(kTextureNames, value);
}
std::string_view name(Size value) {
    return look_up(kSizeNames, value);
}
std::string_view name(Place value) {
    return look_up(kPlaceNames, value);
}
std::string_view name(Sky value) {
    return look_up(kSkyNames, value);
}
std::string_view name(Pose value) {
    return look_up(kPoseNames, value);
}
std::string_view name(Tool value) {
    return look_up(kToolNames, value);
}
std::string_view purpose(Tool value) {
    return look_up(kPurposes, value);
}
std::string_view class_name(int class_id) {
    return look_up(kClassNames, class_id);
}

bool is_test_only(Shape shape, Colour colour) {
    return (3 * static_cast<int>(shape) + static_cast<int>(colour)) % 16 == 5;
}

bool is_test_only(Tool tool, Place place) {
    return static_cast<int>(tool) == static_cast<int>(place);
}

bool is_test_only_text(const std::array<char, 3>& text) {
    std::uint64_t hash = 0x516e;
    for (const char c : text) hash = mix_seed(hash, static_cast<unsigned char>(c));
    return hash % 5 == 0;
}

bool counts(const CountTarget& target, const Item& item) {
    if (item.kind != Kind::Shape) return false;
    const bool same_shape = item.shape() == target.shape;
    const bool same_colour = item.colour == target.colour;
    switch (target.by) {
        case CountBy::ShapeAndColour: return same_shape && same_colour;
        case CountBy::Shape: return same_shape;
        case CountBy::Colour: return same_colour;
    }
    return false;
}

std::uint64_t signature(const Scene& scene) {
    std::uint64_t hash = mix_seed(static_cast<std::uint64_t>(scene.side), scene.background_seed);
    hash = mix_seed(hash, static_cast<std::uint64_t>(scene.place));
    hash = mix_seed(hash, static_cast<std::uint64_t>(scene.sky));
    hash = mix_float(hash, scene.horizon);
    for (const Item& item : scene.items) {
        hash = mix_seed(hash, static_cast<std::uint64_t>(item.kind));
        hash = mix_seed(hash, item.variant);
        hash = mix_seed(hash, static_cast<std::uint64_t>(item.colour));
        hash = mix_seed(hash, static_cast<std::uint64_t>(item.texture));
        hash = mix_seed(hash, static_cast<std::uint64_t>(item.size));
        hash = mix_seed(hash, item.mirrored ? 1 : 0);
        for (const float f : {item.x, item.y, item.half_w, item.half_h, item.angle})
            hash = mix_float(hash, f);
        for (const char c : item.text) hash = mix_seed(hash, static_cast<unsigned char>(c));
    }
    return hash;
}

Split split_of(std::uint64_t signature) {
    const std::uint64_t bucket = signature % 10;
    if (bucket == 0) return Split::Test;
    if (bucket == 1) return Split::Calibrate;
    return Split::Train;
}

}  // namespace clasp::world
