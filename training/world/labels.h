// What every patch shows: the targets of the auxiliary loss that teaches the vision tower to see.
#pragma once

#include <cstdint>
#include <vector>

#include "world/canvas.h"
#include "world/scene.h"

namespace clasp::world {

// Class counts of the labels; 0 always means "none".
inline constexpr int kThingLabels = 1 + kShapes + kPoses + kTools + 1 + kSkies;
inline constexpr int kColourLabels = 1 + kColours;
inline constexpr int kSizeLabels = 3;
inline constexpr int kTextureLabels = 1 + kTextures;
inline constexpr int kGlyphLabels = 1 + static_cast<int>(kSignCharacters.size());
inline constexpr int kCentreLabels = 2;
inline constexpr int kSlotLabels = 4;
inline constexpr int kShareLabels = 8;

struct PatchLabels {
    std::uint8_t thing = 0;
    std::uint8_t colour = 0;
    std::uint8_t size = 0;
    std::uint8_t texture = 0;
    std::uint8_t glyph = 0;
    std::uint8_t centre = 0;  // 1 where an item's centre lies: one patch per item
    std::uint8_t slot = 0;    // 1, 2, 3: first, middle and last character of a sign
    std::uint8_t share = 0;   // 1 to 7: how much of the item's pixels lie here, in steps of about 1.7 times
};

// The label of a character of kSignCharacters.
std::uint8_t glyph_label(char character);

// What a patch that belongs to the item shows.
PatchLabels labels_of(const Item& item);

// Row-major, side * side entries. A patch belongs to the item that covers most of it, if that is at
// least a tenth; rows, columns and the place follow from the index and the scene.
std::vector<PatchLabels> label_patches(const Scene& scene, const Canvas& canvas);

}  // namespace clasp::world
