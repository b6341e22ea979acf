// Which resolution or tile grid each family gives a picture. Pure arithmetic on sizes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "clasp/image.h"
#include "image/preprocess.h"
#include "image/resize.h"

namespace clasp::image {

// LLaVA-NeXT: the candidate that keeps most of the picture's pixels, among equals the one that wastes
// least. candidates must not be empty; sides must be positive.
Result<Size> choose_resolution(Size picture, std::span<const Size> candidates, Arithmetic arithmetic);

// InternVL's candidates: every columns x rows with min_tiles <= columns * rows <= max_tiles.
struct TileRange {
    int min_tiles = 1;
    int max_tiles = 12;
    int tile_side = 448;
};

// The original's choice: the grid whose aspect is nearest to the picture's; among equals a larger one if
// the picture has more than half its pixels. The result counts tiles: columns x rows.
Result<Size> choose_tile_grid(Size picture, const TileRange& range);

// llama.cpp's InternVL candidates in its order, in pixels, for choose_resolution.
Result<std::vector<Size>> tile_candidates(const TileRange& range);

// Qwen2-VL's smart resize: sides rounded to multiples of `factor`, the area brought within limits.
struct PixelRange {
    int factor = 28;
    std::int64_t min_pixels = std::int64_t{8} * 28 * 28;
    std::int64_t max_pixels = std::int64_t{4096} * 28 * 28;
};
Result<Size> choose_pixel_size(Size picture, const PixelRange& range, Arithmetic arithmetic);

// Cuts a picture into tiles, row by row from the top left. Its sides must be multiples of the tile's.
Result<std::vector<Image>> cut_tiles(const Image& image, Size tile);

}  // namespace clasp::image
