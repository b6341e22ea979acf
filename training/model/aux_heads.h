// The auxiliary task: from the tower's output say what every patch shows and where it is, and from
// the class token what the picture holds. Only training uses it.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "model/shape.h"
#include "nn/arena.h"
#include "nn/linear.h"
#include "world/clip_labels.h"
#include "world/labels.h"

namespace clasp::training {

// One softmax group of the per-patch head.
struct AuxGroup {
    std::string_view name;
    int classes;
    float weight;       // of its loss
    float none_weight;  // of patches whose label is 0
};
inline constexpr std::array<AuxGroup, 17> kAuxGroups = {{
    {"thing", world::kThingLabels, 1.0F, 0.2F},
    {"colour", world::kColourLabels, 0.7F, 0.2F},
    {"size", world::kSizeLabels, 0.4F, 0.2F},
    {"texture", world::kTextureLabels, 0.4F, 0.2F},
    {"glyph", world::kGlyphLabels, 1.0F, 0.03F},
    {"centre", world::kCentreLabels, 0.5F, 0.2F},
    {"row", 24, 0.15F, 1.0F},
    {"column", 24, 0.15F, 1.0F},
    {"slot", world::kSlotLabels, 0.5F, 0.03F},
    {"share", world::kShareLabels, 0.7F, 0.2F},
    // Of clips only, from kClipGroup on.
    {"event", world::kEventLabels, 1.5F, 0.2F},
    {"way", world::kWayLabels, 1.0F, 0.1F},
    {"frame", world::kFrameLabels, 1.5F, 0.1F},
    {"blinks", world::kBlinkLabels, 1.5F, 0.1F},
    {"before", world::kLaterLabels, 0.7F, 0.1F},
    {"later", world::kLaterLabels, 0.7F, 0.1F},
    {"actor", world::kActorLabels, 1.0F, 0.1F},
}};

inline constexpr std::size_t kClipGroup = 10;

struct AuxTargets {
    int pictures = 0;
    int frames = 1;  // above 1: the pictures are frames of clips
    int side = 0;
    std::vector<std::array<std::uint8_t, kAuxGroups.size()>> patches;    // pictures * side * side
    std::vector<std::uint8_t> place, sky;                                // per picture
    std::vector<std::array<std::uint8_t, world::kThingLabels>> present;  // per picture, 0 or 1
};

struct AuxScores {
    double loss = 0;  // weighted, already divided by the whole batch
    // Hits and trials per group, counted on patches whose label is not 0 (rows, columns: all).
    std::array<long, kAuxGroups.size() + 2> hits{}, trials{};
};

class AuxHeads {
   public:
    AuxHeads(ParamStore& store, const ModelShape& shape);

    // Loss over the tower's output. Adds its gradient to `gradient` and to the heads'. `share` is
    // this call's part of the whole batch (pictures / batch pictures).
    void run(ParamStore& store, const float* features, const AuxTargets& targets, float share,
             float* gradient, AuxScores& scores, Arena& arena) const;

   private:
    int width_;
    Linear patch_head_, class_head_;
};

}  // namespace clasp::training
