#include "world/clip_labels.h"

#include <cmath>

namespace clasp::world {
namespace {

// True where the actor's box covers the patch's middle, and at least the patch of its own centre.
bool covers(const Item& item, int row, int column) {
    const float x = (static_cast<float>(column) + 0.5F) * kPatch;
    const float y = (static_cast<float>(row) + 0.5F) * kPatch;
    const bool centre =
        static_cast<int>(item.x) / kPatch == column && static_cast<int>(item.y) / kPatch == row;
    return centre || (std::abs(x - item.x) < item.half_w && std::abs(y - item.y) < item.half_h);
}

}  // namespace

ClipPatchLabels labels_of(const Actor& actor) {
    ClipPatchLabels labels;
    labels.event = static_cast<std::uint8_t>(1 + static_cast<int>(actor.event));
    if (actor.event == Event::Moves) labels.way = static_cast<std::uint8_t>(1 + static_cast<int>(actor.way));
    if (actor.event != Event::Stays && actor.event != Event::Moves && actor.event != Event::Blinks)
        labels.frame = static_cast<std::uint8_t>(actor.frame);
    labels.blinks = static_cast<std::uint8_t>(blinks(actor));
    const Colour later = actor.event == Event::Recolours ? actor.later : actor.item.colour;
    labels.before = static_cast<std::uint8_t>(1 + static_cast<int>(actor.item.colour));
    labels.later = static_cast<std::uint8_t>(1 + static_cast<int>(later));
    labels.actor = static_cast<std::uint8_t>(1 + actor.item.variant);
    return labels;
}

std::vector<ClipPatchLabels> label_clip_patches(const Clip& clip, int frame) {
    std::vector<ClipPatchLabels> out(static_cast<std::size_t>(kClipSide * kClipSide));
    for (const Actor& actor : clip.actors) {
        const Item item = item_at(actor, frame);
        for (int row = 0; row < kClipSide; ++row)
            for (int column = 0; column < kClipSide; ++column)
                if (covers(item, row, column))
                    out[static_cast<std::size_t>(row * kClipSide + column)] = labels_of(actor);
    }
    return out;
}

}  // namespace clasp::world
