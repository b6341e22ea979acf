#include "image/tiling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace clasp::image {

namespace {

// Tiles per side and in all: far beyond any model, and small enough that no product overflows.
constexpr int kMaxTiles = 1024;

Status check_positive(Size size, const char* what) {
    if (size.width < 1 || size.height < 1 || size.width > kMaxResizeSide || size.height > kMaxResizeSide) {
        return {Code::InvalidArgument, std::string(what) + " of " + std::to_string(size.width) + " x " +
                                           std::to_string(size.height) + " pixels is outside 1 to " +
                                           std::to_string(kMaxResizeSide) + " per side"};
    }
    return ok_status();
}

Status check_range(const TileRange& range) {
    if (range.min_tiles < 1 || range.max_tiles < range.min_tiles || range.max_tiles > kMaxTiles) {
        return {Code::InvalidArgument, "a tile range of " + std::to_string(range.min_tiles) + " to " +
                                           std::to_string(range.max_tiles) + " is not within 1 to " +
                                           std::to_string(kMaxTiles)};
    }
    if (range.tile_side < 1 || range.tile_side > kMaxResizeSide) {
        return {Code::InvalidArgument, "a tile side of " + std::to_string(range.tile_side) +
                                           " is not within 1 to " + std::to_string(kMaxResizeSide)};
    }
    return ok_status();
}

std::int64_t area(Size size) {
    return std::int64_t{size.width} * size.height;
}

// The picture scaled into the candidate with its aspect kept, rounded down.
Size scaled_into(Size picture, Size candidate, Arithmetic arithmetic) {
    if (arithmetic == Arithmetic::LlamaCpp) {
        const float scale =
            std::min(static_cast<float>(candidate.width) / static_cast<float>(picture.width),
                     static_cast<float>(candidate.height) / static_cast<float>(picture.height));
        return {static_cast<int>(static_cast<float>(picture.width) * scale),
                static_cast<int>(static_cast<float>(picture.height) * scale)};
    }
    const double scale = std::min(static_cast<double>(candidate.width) / picture.width,
                                  static_cast<double>(candidate.height) / picture.height);
    return {static_cast<int>(picture.width * scale), static_cast<int>(picture.height * scale)};
}

// Rounding of a side to multiples of a factor, in the number type of whoever is followed. Python rounds
// halves to even, C++ away from zero.
template <typename Real>
struct Rounder {
    int factor;
    [[nodiscard]] std::int64_t multiple(Real tiles) const {
        return static_cast<std::int64_t>(tiles) * factor;
    }
    [[nodiscard]] std::int64_t nearest(Real x, bool half_to_even) const {
        const Real tiles = x / static_cast<Real>(factor);
        return multiple(half_to_even ? std::nearbyint(tiles) : std::round(tiles));
    }
    [[nodiscard]] std::int64_t up(Real x) const { return multiple(std::ceil(x / static_cast<Real>(factor))); }
    [[nodiscard]] std::int64_t down(Real x) const {
        return multiple(std::floor(x / static_cast<Real>(factor)));
    }
};

template <typename Real>
std::pair<std::int64_t, std::int64_t> bounded_size(Size picture, const PixelRange& range, bool half_to_even) {
    const Rounder<Real> round{range.factor};
    const auto width = static_cast<Real>(picture.width);
    const auto height = static_cast<Real>(picture.height);
    const std::int64_t least = range.factor;
    std::int64_t out_width = std::max(least, round.nearest(width, half_to_even));
    std::int64_t out_height = std::max(least, round.nearest(height, half_to_even));
    if (out_width * out_height > range.max_pixels) {
        const Real shrink = std::sqrt(height * width / static_cast<Real>(range.max_pixels));
        out_height = std::max(least, round.down(height / shrink));
        out_width = std::max(least, round.down(width / shrink));
    } else if (out_width * out_height < range.min_pixels) {
        const Real grow = std::sqrt(static_cast<Real>(range.min_pixels) / (height * width));
        out_height = round.up(height * grow);
        out_width = round.up(width * grow);
    }
    return {out_width, out_height};
}

}  // namespace

Result<Size> choose_resolution(Size picture, std::span<const Size> candidates, Arithmetic arithmetic) {
    CLASP_RETURN_IF_ERROR(check_positive(picture, "a picture"));
    if (candidates.empty()) return Status(Code::InvalidArgument, "there is no candidate resolution");
    Size best;
    std::int64_t most_kept = 0;
    std::int64_t least_wasted = std::numeric_limits<std::int64_t>::max();
    for (const Size candidate : candidates) {
        CLASP_RETURN_IF_ERROR(check_positive(candidate, "a candidate resolution"));
        const std::int64_t kept = std::min(area(scaled_into(picture, candidate, arithmetic)), area(picture));
        const std::int64_t wasted = area(candidate) - kept;
        // The first candidate stands even if a thin picture keeps no pixel in any.
        if (best == Size{} || kept > most_kept || (kept == most_kept && wasted < least_wasted)) {
            best = candidate;
            most_kept = kept;
            least_wasted = wasted;
        }
    }
    return best;
}

Result<Size> choose_tile_grid(Size picture, const TileRange& range) {
    CLASP_RETURN_IF_ERROR(check_positive(picture, "a picture"));
    CLASP_RETURN_IF_ERROR(check_range(range));
    const double aspect = static_cast<double>(picture.width) / picture.height;
    Size best{1, 1};
    double best_difference = std::numeric_limits<double>::infinity();
    for (int n = range.min_tiles; n <= range.max_tiles; ++n) {  // in order of the number of tiles
        for (int columns = 1; columns <= n; ++columns) {
            if (n % columns != 0) continue;
            const Size grid{columns, n / columns};
            const double difference = std::abs(aspect - static_cast<double>(grid.width) / grid.height);
            const double half_area = 0.5 * range.tile_side * range.tile_side * n;
            const bool fills_it = static_cast<double>(area(picture)) > half_area;
            if (difference < best_difference || (difference == best_difference && fills_it)) {
                best = grid;
                best_difference = difference;
            }
        }
    }
    return best;
}

Result<std::vector<Size>> tile_candidates(const TileRange& range) {
    CLASP_RETURN_IF_ERROR(check_range(range));
    std::vector<Size> candidates;
    for (int columns = range.min_tiles; columns <= range.max_tiles; ++columns) {
        for (int rows = range.min_tiles; columns * rows <= range.max_tiles; ++rows) {
            candidates.push_back({columns * range.tile_side, rows * range.tile_side});
        }
    }
    return candidates;
}

Result<Size> choose_pixel_size(Size picture, const PixelRange& range, Arithmetic arithmetic) {
    CLASP_RETURN_IF_ERROR(check_positive(picture, "a picture"));
    if (range.factor < 1 || range.factor > kMaxResizeSide || range.min_pixels < 1 ||
        range.max_pixels < range.min_pixels || range.max_pixels < std::int64_t{range.factor} * range.factor ||
        range.max_pixels > std::int64_t{kMaxResizeSide} * kMaxResizeSide) {
        return Status(Code::InvalidArgument, "a pixel range of " + std::to_string(range.min_pixels) + " to " +
                                                 std::to_string(range.max_pixels) + " with factor " +
                                                 std::to_string(range.factor) + " cannot be met");
    }
    const auto [width, height] = arithmetic == Arithmetic::LlamaCpp
                                     ? bounded_size<float>(picture, range, false)
                                     : bounded_size<double>(picture, range, true);
    if (std::max(width, height) > kMaxResizeSide) {
        return Status(Code::TooLarge, "a picture of " + std::to_string(picture.width) + " x " +
                                          std::to_string(picture.height) +
                                          " pixels is too thin for this model's pixel range");
    }
    return Size{static_cast<int>(width), static_cast<int>(height)};
}

Result<std::vector<Image>> cut_tiles(const Image& image, Size tile) {
    CLASP_RETURN_IF_ERROR(check_positive(tile, "a tile"));
    if (image.width < 1 || image.height < 1 || image.width % tile.width != 0 ||
        image.height % tile.height != 0) {
        return Status(Code::InvalidArgument,
                      "a picture of " + std::to_string(image.width) + " x " + std::to_string(image.height) +
                          " pixels cannot be cut into tiles of " + std::to_string(tile.width) + " x " +
                          std::to_string(tile.height));
    }
    std::vector<Image> tiles;
    for (int top = 0; top < image.height; top += tile.height) {
        for (int left = 0; left < image.width; left += tile.width) {
            CLASP_ASSIGN_OR_RETURN(Image piece, crop(image, left, top, tile));
            tiles.push_back(std::move(piece));
        }
    }
    return tiles;
}

}  // namespace clasp::image
