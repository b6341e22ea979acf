// The colours of things.
#pragma once

#include "world/canvas.h"
#include "world/scene.h"

namespace clasp::world {

inline constexpr Rgb kInk{34, 34, 40};
inline constexpr Rgb kSkin{238, 190, 150};
inline constexpr Rgb kWood{140, 96, 58};
inline constexpr Rgb kSteel{150, 158, 168};

Rgb rgb_of(Colour colour);
Rgb outline_of(Colour colour);      // dark, but light around black things
Rgb second_tone_of(Colour colour);  // the other tone of stripes and dots

}  // namespace clasp::world
