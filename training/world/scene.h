// What a drawn scene contains. A scene is plain data: the painter draws it, the question
// writer asks about it, and a test can recompute every answer from it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace clasp::world {

inline constexpr int kPatch = 14;     // pixels per patch side, as CLIP ViT-L/14
inline constexpr int kFullSide = 24;  // patches per picture side: 24 * 14 = 336 pixels
inline constexpr int kClasses = 9;    // the paper's question classes

enum class Split : std::uint8_t { Train, Calibrate, Test };

enum class Shape : std::uint8_t { Circle, Square, Triangle, Star, Heart, Cross, Ring, Diamond };
enum class Colour : std::uint8_t { Red, Orange, Yellow, Green, Blue, Purple, Black, White };
enum class Texture : std::uint8_t { Plain, Striped, Dotted };
enum class Size : std::uint8_t { Small, Large };
enum class Place : std::uint8_t { Beach, Forest, City, Desert, Mountains, Farm };
enum class Sky : std::uint8_t { Sun, Clouds, Moon, Stars };
enum class Pose : std::uint8_t { Running, Sitting, Jumping, Waving, Sleeping };
enum class Tool : std::uint8_t { Hammer, Scissors, Key, Brush, Spoon, Umbrella };
enum class Kind : std::uint8_t { Shape, Person, Tool, Sign, SkyMark };

inline constexpr int kShapes = 8;
inline constexpr int kColours = 8;
inline constexpr int kTextures = 3;
inline constexpr int kPlaces = 6;
inline constexpr int kSkies = 4;
inline constexpr int kPoses = 5;
inline constexpr int kTools = 6;

std::string_view name(Split value);
std::string_view name(Shape value);
std::string_view name(Colour value);
std::string_view name(Texture value);
std::string_view name(Size value);
std::string_view name(Place value);
std::string_view name(Sky value);
std::string_view name(Pose value);
std::string_view name(Tool value);
std::string_view purpose(Tool value);  // "cutting paper"
std::string_view class_name(int class_id);

// Characters that signs use. Look-alikes (0/O, 1/I, 5/S, 8/B, 2/Z) appear once each.
inline constexpr std::string_view kSignCharacters = "0123456789ACEFHJKLMNPRTUVWXY";

// One thing in the picture. `variant` is a Shape, Person's Pose, Tool or Sky by `kind`.
struct Item {
    Kind kind = Kind::Shape;
    std::uint8_t variant = 0;
    Colour colour = Colour::Red;
    Texture texture = Texture::Plain;
    Size size = Size::Small;
    bool mirrored = false;
    float x = 0, y = 0;            // centre in pixels
    float half_w = 0, half_h = 0;  // half extents of the box that the item never leaves
    float angle = 0;               // radians
    std::array<char, 3> text{};    // signs only

    Shape shape() const { return static_cast<Shape>(variant); }
    Pose pose() const { return static_cast<Pose>(variant); }
    Tool tool() const { return static_cast<Tool>(variant); }
    std::string sign_text() const { return {text.begin(), text.end()}; }
};

// The property that a counting question asks about; `count` items of the scene have it.
enum class CountBy : std::uint8_t { ShapeAndColour, Shape, Colour };
struct CountTarget {
    bool asked = false;  // false: the scene was not balanced for counting
    CountBy by = CountBy::Shape;
    Shape shape = Shape::Circle;
    Colour colour = Colour::Red;
    int count = 0;
};

struct Scene {
    Split split = Split::Train;
    std::uint64_t seed = 0;
    std::uint64_t index = 0;
    int side = kFullSide;  // patches per side
    Place place = Place::Beach;
    Sky sky = Sky::Sun;
    float horizon = 0;  // pixel row where the ground begins
    std::uint64_t background_seed = 0;
    CountTarget target;
    std::vector<Item> items;

    int pixels() const { return side * kPatch; }
    bool is_night() const { return sky == Sky::Moon || sky == Sky::Stars; }
};

// True for (shape, colour) pairs, (tool, place) pairs and sign texts that only the test split shows.
bool is_test_only(Shape shape, Colour colour);
bool is_test_only(Tool tool, Place place);
bool is_test_only_text(const std::array<char, 3>& text);

bool counts(const CountTarget& target, const Item& item);

// 64-bit hash of everything that the painter reads.
std::uint64_t signature(const Scene& scene);

// The split that owns a signature: 1 in 10 test, 1 in 10 calibrate, the rest train. A scene can
// therefore never occur in two splits.
Split split_of(std::uint64_t signature);

}  // namespace clasp::world
