#include "world/palette.h"

namespace clasp::world {

Rgb rgb_of(Colour colour) {
    constexpr Rgb kTable[] = {{214, 32, 40}, {248, 136, 16}, {250, 220, 30}, {30, 150, 60},
                              {36, 84, 214}, {146, 50, 176}, {22, 22, 26},   {252, 252, 252}};
    return kTable[static_cast<std::size_t>(colour)];
}

Rgb outline_of(Colour colour) {
    return colour == Colour::Black ? Rgb{214, 214, 214} : kInk;
}

Rgb second_tone_of(Colour colour) {
    switch (colour) {
        case Colour::White: return {150, 150, 156};
        case Colour::Yellow: return {176, 130, 6};
        case Colour::Black: return {128, 128, 132};
        default: return blend(rgb_of(colour), {255, 255, 255}, 0.68F);
    }
}

}  // namespace clasp::world
