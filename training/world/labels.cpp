#include "world/labels.h"

#include <algorithm>
#include <array>

namespace clasp::world {
namespace {

constexpr int kLeastPixels = kPatch * kPatch / 10;
// Lower ends of the shares 2 to 7. Over its patches they add up to one item, whatever its size: what a sum
// over patches needs for counting.
constexpr std::array<float, kShareLabels - 2> kShares = {0.035F, 0.06F, 0.1F, 0.17F, 0.29F, 0.5F};

std::uint8_t thing_label(const Item& item) {
    int base = 1;
    if (item.kind == Kind::Shape) return static_cast<std::uint8_t>(base + item.variant);
    base += kShapes;
    if (item.kind == Kind::Person) return static_cast<std::uint8_t>(base + item.variant);
    base += kPoses;
    if (item.kind == Kind::Tool) return static_cast<std::uint8_t>(base + item.variant);
    base += kTools;
    if (item.kind == Kind::Sign) return static_cast<std::uint8_t>(base);
    return static_cast<std::uint8_t>(base + 1 + item.variant);
}

}  // namespace

std::uint8_t glyph_label(char character) {
    return static_cast<std::uint8_t>(1 + kSignCharacters.find(character));
}

PatchLabels labels_of(const Item& item) {
    PatchLabels labels;
    labels.thing = thing_label(item);
    if (item.kind == Kind::SkyMark) return labels;
    labels.colour = static_cast<std::uint8_t>(1 + static_cast<int>(item.colour));
    if (item.kind == Kind::Shape) {
        labels.size = static_cast<std::uint8_t>(1 + static_cast<int>(item.size));
        labels.texture = static_cast<std::uint8_t>(1 + static_cast<int>(item.texture));
    }
    return labels;
}

std::vector<PatchLabels> label_patches(const Scene& scene, const Canvas& canvas) {
    const int side = scene.side;
    std::vector<PatchLabels> out(static_cast<std::size_t>(side * side));
    std::array<int, 256> whole{};
    for (const std::uint8_t owner : canvas.owner()) ++whole[owner];
    for (int row = 0; row < side; ++row)
        for (int column = 0; column < side; ++column) {
            std::array<int, 256> pixels{};
            for (int y = row * kPatch; y < (row + 1) * kPatch; ++y)
                for (int x = column * kPatch; x < (column + 1) * kPatch; ++x)
                    ++pixels[canvas.owner()[static_cast<std::size_t>(y * canvas.side() + x)]];
            std::size_t best = 0;
            for (std::size_t i = 1; i <= scene.items.size(); ++i)
                if (pixels[i] >= kLeastPixels && (best == 0 || pixels[i] > pixels[best])) best = i;
            if (best == 0) continue;
            PatchLabels& labels = out[static_cast<std::size_t>(row * side + column)];
            labels = labels_of(scene.items[best - 1]);
            const float share = static_cast<float>(pixels[best]) / static_cast<float>(whole[best]);
            labels.share =
                static_cast<std::uint8_t>(1 + (std::ranges::upper_bound(kShares, share) - kShares.begin()));
        }
    const auto patch_at = [&](float x, float y) -> PatchLabels& {
        return out[static_cast<std::size_t>(static_cast<int>(y) / kPatch * side +
                                            static_cast<int>(x) / kPatch)];
    };
    for (const Item& item : scene.items) {
        patch_at(item.x, item.y).centre = 1;
        if (item.kind != Kind::Sign) continue;
        const int rows = item.size == Size::Large ? 2 : 1;
        for (int i = 0; i < 3; ++i)
            for (int row = 0; row < rows; ++row) {
                const float x = item.x + static_cast<float>((i - 1) * kPatch);
                const float y = item.y + (static_cast<float>(row) - static_cast<float>(rows) / 2) * kPatch;
                PatchLabels& labels = patch_at(x, y + kPatch / 2.0F);
                labels.glyph = glyph_label(item.text[static_cast<std::size_t>(i)]);
                labels.slot = static_cast<std::uint8_t>(1 + i);
            }
    }
    return out;
}

}  // namespace clasp::world
