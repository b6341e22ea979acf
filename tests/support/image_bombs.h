// Pictures that are small as files and large as work: for tests of the limits, for seeds of the fuzzers and
// for scripts/torture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace clasp::test {

using PictureBytes = std::vector<std::uint8_t>;

struct FlatJpeg {
    std::uint32_t width = 16;
    std::uint32_t height = 16;
    bool is_progressive = false;
    bool is_arithmetic = false;
    std::uint32_t restart_interval = 0;  // blocks between restart markers
};
// A grey picture, three components without subsampling.
PictureBytes flat_jpeg(const FlatJpeg& spec);
// The same with n markers of that number (0xE1 is APP1) and `payload` zero bytes each before everything else.
PictureBytes with_markers(const PictureBytes& jpeg, std::uint8_t marker, std::size_t n,
                          std::size_t payload = 0);
// The same with its last scan repeated until there are n more.
PictureBytes with_more_scans(const PictureBytes& jpeg, std::size_t n);

struct FlatPng {
    std::uint32_t width = 16;
    std::uint32_t height = 16;
    std::uint8_t bits = 8;  // of each of four channels; or 16
    bool is_interlaced = false;
    std::size_t leftover_bytes = 0;  // zeros that the data inflates to after the last row
};
PictureBytes flat_png(const FlatPng& spec);
// The same with n chunks of that name (four letters) and `payload` zero bytes each before the pixels.
PictureBytes with_chunks(const PictureBytes& png, const char* name, std::size_t n, std::size_t payload = 0);

// A frame whose data is nothing but n codes that clear the table.
PictureBytes gif_of_clear_codes(std::uint16_t width, std::uint16_t height, std::size_t n);
// A whole frame in one colour, every pixel a code of its own.
PictureBytes flat_gif(std::uint16_t width, std::uint16_t height);
// The same with n comment extensions before the frame.
PictureBytes with_comments(const PictureBytes& gif, std::size_t n);

// RLE8: n runs of 255 pixels without an end of row among them.
PictureBytes bmp_of_runs(std::uint32_t width, std::uint32_t height, std::size_t n);
// RLE8: n moves by nothing.
PictureBytes bmp_of_moves(std::uint32_t width, std::uint32_t height, std::size_t n);

// Lossless, in one colour.
PictureBytes flat_webp(int width, int height);
// The same as an extended file with n unknown chunks.
PictureBytes with_riff_chunks(const PictureBytes& webp, std::size_t n);

}  // namespace clasp::test
