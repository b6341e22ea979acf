// Draws a scene.
#pragma once

#include <vector>

#include "world/canvas.h"
#include "world/clip.h"
#include "world/scene.h"

namespace clasp::world {

// The picture, side * 14 pixels square. Item i of the scene owns pixels marked i + 1.
Canvas paint_scene(const Scene& scene);

// The frames of a clip, each as paint_scene would draw it.
std::vector<Canvas> paint_clip(const Clip& clip);

// The parts, one file each; `owner` marks the item's pixels.
void paint_background(Canvas& canvas, const Scene& scene);
void paint_sky_mark(Canvas& canvas, const Item& item, std::uint8_t owner);
void paint_shape(Canvas& canvas, const Item& item, std::uint8_t owner);
void paint_person(Canvas& canvas, const Item& item, std::uint8_t owner);
void paint_tool(Canvas& canvas, const Item& item, std::uint8_t owner);
void paint_sign(Canvas& canvas, const Item& item, std::uint8_t owner);

}  // namespace clasp::world
