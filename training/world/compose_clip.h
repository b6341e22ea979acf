// Decides who acts in a moving scene and what happens.
#pragma once

#include "world/clip.h"

namespace clasp::world {

// The clip with this address, as compose_scene: deterministic, and clips of different splits are never equal.
// Its own question is of form index % kClipForms; what that question's answer will be is drawn before
// anything else, so that contents which are hard to place are not rarer as answers.
Clip compose_clip(Split split, std::uint64_t seed, std::uint64_t index);

}  // namespace clasp::world
