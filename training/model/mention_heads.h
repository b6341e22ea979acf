// A second auxiliary task: where a question has named something, the decoder's stream must tell what and
// where it is, and how many there are. It teaches the decoder to look things up at once, long before
// comparing or counting them earns anything. Two sets of heads read the stream early and half-way up. Only
// training uses them.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "model/shape.h"
#include "nn/arena.h"
#include "nn/linear.h"
#include "world/clip.h"
#include "world/labels.h"

namespace clasp::training {

struct MentionGroup {
    std::string_view name;
    int classes;
    float weight;  // of its loss
};
inline constexpr int kMentionCounts = 8;  // 0 to 6, and more
inline constexpr std::array<MentionGroup, 18> kMentionGroups = {{
    {"row", 24, 0.5F},
    {"column", 24, 0.5F},
    {"thing", world::kThingLabels, 0.5F},
    {"colour", world::kColourLabels, 0.4F},
    {"size", world::kSizeLabels, 0.3F},
    {"texture", world::kTextureLabels, 0.3F},
    {"count", kMentionCounts, 1.0F},
    {"place", world::kPlaces, 4.0F},
    {"sky", world::kSkies, 4.0F},
    {"first", world::kGlyphLabels, 4.0F},  // characters of a sign
    {"middle", world::kGlyphLabels, 4.0F},
    {"last", world::kGlyphLabels, 4.0F},
    // Of actors in clips only.
    {"event", world::kEvents, 1.5F},
    {"way", world::kWays, 1.5F},
    {"frame", world::kClipFrames, 0.7F},
    {"blinks", 1 + world::kMostBlinks, 1.0F},
    {"before", world::kColours, 0.7F},
    {"later", world::kColours, 0.7F},
}};
// Places in the table above; a sign's three characters begin at kGlyphGroup.
enum MentionGroupPlace : std::size_t {
    kRowGroup,
    kColumnGroup,
    kThingGroup,
    kColourGroup,
    kSizeGroup,
    kTextureGroup,
    kCountGroup,
    kPlaceGroup,
    kSkyGroup,
    kGlyphGroup,
    kEventGroup = kGlyphGroup + 3,
    kWayGroup,
    kFrameGroup,
    kBlinkGroup,
    kBeforeGroup,
    kLaterGroup,
};
inline constexpr std::uint8_t kNotAsked = 255;
// Row, column and count must also be there as plain numbers from -1 to 1: what lies along one direction is
// easy to compare, and a wrong count by one is less wrong than by three.
inline constexpr std::array<std::size_t, 3> kNumberGroups = {kRowGroup, kColumnGroup, kCountGroup};
inline constexpr float kNumberWeight = 2.0F;

using MentionLabels = std::array<std::uint8_t, kMentionGroups.size()>;

struct MentionTarget {
    int row = 0;  // of the packed text
    MentionLabels labels{};
};

struct MentionScores {
    double loss = 0;
    std::array<long, kMentionGroups.size()> hits{}, trials{};
};

class MentionHeads {
   public:
    MentionHeads(ParamStore& store, const std::string& name, const ModelShape& shape);

    // Loss over `stream` (rows x width), `weight` per mention. With `gradient` not null (same shape) adds
    // the gradient of the stream and of the heads.
    void run(ParamStore& store, const float* stream, const std::vector<MentionTarget>& targets, float weight,
             float* gradient, MentionScores& scores, Arena& arena) const;

   private:
    int width_;
    ParamId norm_w_;
    Linear head_;
};

}  // namespace clasp::training
