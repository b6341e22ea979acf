#include "image/exif.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "image/byte_reader.h"
#include "image/limits.h"

namespace clasp::image {

namespace {

constexpr std::uint16_t kOrientationTag = 0x0112;
constexpr std::uint16_t kTypeShort = 3;
constexpr std::uint16_t kTypeLong = 4;
constexpr std::size_t kEntryBytes = 12;
constexpr std::array<std::uint8_t, 6> kExifPrefix = {'E', 'x', 'i', 'f', 0, 0};

// Where the stored pixel (x, y) goes when a picture of that orientation is turned upright.
struct Turn {
    bool swap_axes;  // rows become columns
    bool flip_x;     // mirrored left to right, in the upright picture
    bool flip_y;     // mirrored top to bottom, in the upright picture
};

Turn turn_of(int orientation) {
    switch (orientation) {
        case 2: return {false, true, false};
        case 3: return {false, true, true};
        case 4: return {false, false, true};
        case 5: return {true, false, false};
        case 6: return {true, true, false};
        case 7: return {true, true, true};
        case 8: return {true, false, true};
        default: return {false, false, false};
    }
}

}  // namespace

int exif_orientation(std::span<const std::uint8_t> tiff) {
    if (tiff.size() < 8) return 1;
    ByteOrder order = ByteOrder::Little;
    if (tiff[0] == 'M' && tiff[1] == 'M') {
        order = ByteOrder::Big;
    } else if (tiff[0] != 'I' || tiff[1] != 'I') {
        return 1;
    }
    const ByteReader reader(tiff, order);
    if (reader.u16(2) != 42) return 1;
    const std::size_t directory = *reader.u32(4);
    const auto n_entries = reader.u16(directory);
    if (!n_entries) return 1;
    for (std::size_t i = 0; i < *n_entries; ++i) {
        const std::size_t entry = directory + 2 + i * kEntryBytes;
        const auto tag = reader.u16(entry);
        if (!tag) return 1;
        if (*tag != kOrientationTag) continue;
        if (reader.u32(entry + 4) != 1U) return 1;
        const auto type = reader.u16(entry + 2);
        std::uint32_t value = 0;
        if (type == kTypeShort) {
            value = reader.u16(entry + 8).value_or(0);
        } else if (type == kTypeLong) {
            value = reader.u32(entry + 8).value_or(0);
        }
        return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
    }
    return 1;
}

std::span<const std::uint8_t> strip_exif_prefix(std::span<const std::uint8_t> block) {
    if (block.size() >= kExifPrefix.size() &&
        std::equal(kExifPrefix.begin(), kExifPrefix.end(), block.begin())) {
        return block.subspan(kExifPrefix.size());
    }
    return block;
}

bool swaps_sides(int orientation) {
    return turn_of(orientation).swap_axes;
}

Result<Image> turn_upright(Image stored, Work& work) {
    if (stored.orientation == 1) return stored;
    const Turn turn = turn_of(stored.orientation);
    const auto stored_width = static_cast<std::size_t>(stored.width);
    const auto stored_height = static_cast<std::size_t>(stored.height);
    const std::size_t width = turn.swap_axes ? stored_height : stored_width;
    const std::size_t height = turn.swap_axes ? stored_width : stored_height;
    CLASP_ASSIGN_OR_RETURN(Image upright, make_image(width, height, 0));
    for (std::size_t y = 0; y < height; ++y) {
        if (!work.spend(3 * width)) return work.status();
        const std::size_t from_y = turn.flip_y ? height - 1 - y : y;
        std::uint8_t* out = upright.rgb.data() + y * width * 3;
        for (std::size_t x = 0; x < width; ++x) {
            const std::size_t from_x = turn.flip_x ? width - 1 - x : x;
            const std::size_t at =
                turn.swap_axes ? from_x * stored_width + from_y : from_y * stored_width + from_x;
            const std::uint8_t* in = stored.rgb.data() + at * 3;
            *out++ = in[0];
            *out++ = in[1];
            *out++ = in[2];
        }
    }
    upright.format = stored.format;
    upright.orientation = stored.orientation;
    upright.is_partial = stored.is_partial;
    upright.warnings = std::move(stored.warnings);
    return upright;
}

}  // namespace clasp::image
