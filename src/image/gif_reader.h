// What reading a GIF's first frame and reading all of them share: giflib on bytes in memory, its errors, the
// frames' control blocks, rows and colours.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <gif_lib.h>

#include "image/decoders.h"

namespace clasp::image {

struct GifSource {
    Bytes left;
    Work* work = nullptr;
};

struct CloseGif {
    void operator()(GifFileType* gif) const { DGifCloseFile(gif, nullptr); }
};
using GifFile = std::unique_ptr<GifFileType, CloseGif>;

// The source must outlive the file. Error: corrupt, or what the work's status says.
Result<GifFile> open_gif(GifSource& source);

Status gif_damaged(int error);

// What the file says of the frame that comes next.
struct GifFrame {
    int transparent = NO_TRANSPARENT_COLOR;  // colour index
    int disposal = DISPOSAL_UNSPECIFIED;
    int delay_cs = 0;  // hundredths of a second
};

// Steps over extensions to the next frame and reads its descriptor; false at the end mark.
Result<bool> next_gif_frame(GifFileType* gif, Work& work, GifFrame& frame);

// Whether the frame has pixels, some of them on the canvas, and not too many. Errors say "the <which> frame".
Status check_gif_frame(const GifFileType& gif, const ImageLimits& limits, const char* which);

// Counts what clearing giflib's table will cost before it does so. `at` is where the frame's data begins.
Status check_gif_codes(Bytes bytes, std::size_t at, const ImageLimits& limits, Work& work);

// Rows in the order in which they are stored: straight, or in the four passes of an interlaced frame.
std::vector<int> stored_gif_rows(int height, bool is_interlaced);

// 256 RGB triples; indices beyond the stored colours are black.
using GifPalette = std::array<std::uint8_t, 256 * 3>;
// Of the frame under way. Error: it has none.
Result<GifPalette> frame_palette(const GifFileType& gif, const char* which);

// Paints the frame's rows; parts outside the canvas and pixels of the colour `transparent` are left alone
// (-1: none). Returns the number of rows read.
int paint_gif_frame(GifFileType* gif, const GifPalette& palette, int transparent, Image& image, Work& work);

// Every pixel in one colour of a palette.
void fill_gif(Image& image, const GifPalette& palette, int index);

// Length of a colour table, in bytes, as the flags of a descriptor state it.
std::size_t gif_table_bytes(std::uint8_t flags);

}  // namespace clasp::image
