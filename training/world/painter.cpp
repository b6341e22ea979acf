#include "world/painter.h"

namespace clasp::world {

Canvas paint_scene(const Scene& scene) {
    Canvas canvas(scene.pixels());
    paint_background(canvas, scene);
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
    return canvas;
}

}  // namespace clasp::world
