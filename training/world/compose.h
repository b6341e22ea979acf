// Decides what a scene contains and where everything stands.
#pragma once

#include "world/scene.h"

namespace clasp::world {

// The scene with this address. Deterministic; scenes of different splits are never equal, because a
// draft is redrawn until its signature belongs to the split. `side` is 8 to 24 patches; small sides
// hold fewer things. The scene always holds what a question of class index % 9 needs.
Scene compose_scene(Split split, std::uint64_t seed, std::uint64_t index, int side = kFullSide);

}  // namespace clasp::world
