// What happens where in a frame: targets of the auxiliary loss that teaches a tower with temporal attention.
#pragma once

#include <vector>

#include "world/canvas.h"
#include "world/clip.h"

namespace clasp::world {

// Class counts; 0 always means "none" or "nobody here".
inline constexpr int kEventLabels = 1 + kEvents;
inline constexpr int kWayLabels = 1 + kWays;
inline constexpr int kFrameLabels = kClipFrames;  // the first frame that differs is 1 to 7
inline constexpr int kBlinkLabels = 1 + kMostBlinks;
inline constexpr int kLaterLabels = 1 + kColours;
inline constexpr int kActorLabels = 1 + kShapes;

struct ClipPatchLabels {
    std::uint8_t event = 0;
    std::uint8_t way = 0;
    std::uint8_t frame = 0;
    std::uint8_t blinks = 0;
    std::uint8_t before = 0;  // colour in the first frame
    std::uint8_t later = 0;   // colour in the last frame
    std::uint8_t actor = 0;   // which shape, also where it is not seen now
};

ClipPatchLabels labels_of(const Actor& actor);

// Row-major, kClipSide * kClipSide entries: a patch belongs to the actor whose box reaches over its middle in
// this frame, seen or not.
std::vector<ClipPatchLabels> label_clip_patches(const Clip& clip, int frame);

}  // namespace clasp::world
