#include "world/painter.h"

namespace clasp::world {
namespace {

void paint_items(Canvas& canvas, const Scene& scene) {
    std::uint8_t owner = 0;
    for (const Item& item : scene.items) {
        ++owner;
        switch (item.kind) {
            case Kind::Shape: paint_shape(canvas, item, owner); break;
            case Kind::Person: paint_person(canvas, item, owner); break;
            case Kind::Tool: paint_tool(canvas, item, owner); break;
            case Kind::Sign: paint_sign(canvas, item, owner); break;
            case Kind::SkyMark: paint_sky_mark(canvas, item, owner); break;
        }
    }
}

}  // namespace

Canvas paint_scene(const Scene& scene) {
    Canvas canvas(scene.pixels());
    paint_background(canvas, scene);
    paint_items(canvas, scene);
    return canvas;
}

std::vector<Canvas> paint_clip(const Clip& clip) {
    Canvas empty(clip.stage.pixels());
    paint_background(empty, clip.stage);
    std::vector<Canvas> frames(kClipFrames, empty);
    for (int frame = 0; frame < kClipFrames; ++frame)
        paint_items(frames[static_cast<std::size_t>(frame)], scene_at(clip, frame));
    return frames;
}

}  // namespace clasp::world
