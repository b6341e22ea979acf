// Bitmaps written byte by byte: every depth and layout that the reader knows, and damage to each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "clasp/image.h"

namespace clasp::image {

namespace {

using Buffer = std::vector<std::uint8_t>;

void put(Buffer& bytes, std::uint32_t value, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) bytes.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

struct Bitmap {
    std::int32_t width = 0;
    std::int32_t height = 0;
    std::uint32_t bits = 24;
    std::uint32_t compression = 0;
    Buffer palette = {};  // blue, green, red, 0 (three bytes each in a core header)
    Buffer masks = {};    // after a 40-byte header
    Buffer pixels = {};
    std::uint32_t header_bytes = 40;
    std::uint32_t n_colours = 0;
};

Buffer write(const Bitmap& bitmap) {
    Buffer out = {'B', 'M'};
    const auto offset =
        static_cast<std::uint32_t>(14 + bitmap.header_bytes + bitmap.masks.size() + bitmap.palette.size());
    put(out, offset + static_cast<std::uint32_t>(bitmap.pixels.size()), 4);
    put(out, 0, 4);
    put(out, offset, 4);
    put(out, bitmap.header_bytes, 4);
    const bool is_core = bitmap.header_bytes == 12;
    put(out, static_cast<std::uint32_t>(bitmap.width), is_core ? 2 : 4);
    put(out, static_cast<std::uint32_t>(bitmap.height), is_core ? 2 : 4);
    put(out, 1, 2);
    put(out, bitmap.bits, 2);
    if (!is_core) {
        put(out, bitmap.compression, 4);
        for (int i = 0; i < 3; ++i) put(out, 0, 4);
        put(out, bitmap.n_colours, 4);
        put(out, 0, 4);
        out.insert(out.end(), bitmap.masks.begin(), bitmap.masks.end());
        out.resize(14 + bitmap.header_bytes + (bitmap.header_bytes == 40 ? bitmap.masks.size() : 0));
    }
    // Larger headers hold the masks themselves, so the offset above must not count them twice.
    if (bitmap.header_bytes > 40) {
        const auto corrected = static_cast<std::uint32_t>(14 + bitmap.header_bytes + bitmap.palette.size());
        for (std::size_t i = 0; i < 4; ++i) out[10 + i] = static_cast<std::uint8_t>(corrected >> (8 * i));
    }
    out.insert(out.end(), bitmap.palette.begin(), bitmap.palette.end());
    out.insert(out.end(), bitmap.pixels.begin(), bitmap.pixels.end());
    return out;
}

Result<Image> decode(const Bitmap& bitmap) {
    ImageOptions options;
    options.limits.min_side = 1;
    return decode_image(write(bitmap), options);
}

using Rgb = std::array<int, 3>;

std::vector<Rgb> pixels_of(const Image& image) {
    std::vector<Rgb> out;
    for (std::size_t i = 0; i < image.rgb.size(); i += 3) {
        out.push_back({image.rgb[i], image.rgb[i + 1], image.rgb[i + 2]});
    }
    return out;
}

constexpr Rgb kBlack = {0, 0, 0};
constexpr Rgb kRed = {255, 0, 0};
constexpr Rgb kGreen = {0, 255, 0};
constexpr Rgb kBlue = {0, 0, 255};
const Buffer kFourColours = {0, 0,   0, 0, 0,   0, 255, 0,
                             0, 255, 0, 0, 255, 0, 0,   0};  // black, red, green, blue

void expect_pixels(const Bitmap& bitmap, const std::vector<Rgb>& want) {
    const auto image = decode(bitmap);
    ASSERT_TRUE(image.ok()) << image.status().message();
    EXPECT_EQ(image->format, ImageFormat::Bmp);
    EXPECT_EQ(pixels_of(*image), want);
    EXPECT_FALSE(image->is_partial);
    EXPECT_THAT(image->warnings, ::testing::IsEmpty());
}

void expect_error(const Bitmap& bitmap, Code code, const std::string& says) {
    const auto image = decode(bitmap);
    ASSERT_FALSE(image.ok());
    EXPECT_EQ(image.status().code(), code);
    EXPECT_THAT(image.status().message(), ::testing::HasSubstr(says));
}

TEST(Bmp, TwentyFourBitBottomUpAndTopDown) {
    Bitmap bitmap{2, 2, 24};
    bitmap.pixels = {0, 0, 255, 0, 255, 0, 9, 9, 255, 0, 0, 0, 0, 0, 9, 9};
    expect_pixels(bitmap, {kBlue, kBlack, kRed, kGreen});
    bitmap.height = -2;
    expect_pixels(bitmap, {kRed, kGreen, kBlue, kBlack});
}

TEST(Bmp, LastRowMayLackItsPadding) {
    Bitmap bitmap{1, 2, 24};
    bitmap.pixels = {0, 0, 255, 0, 255, 0, 0};
    expect_pixels(bitmap, {kBlue, kRed});
}

TEST(Bmp, PaletteDepths) {
    Bitmap one{3, 1, 1};
    one.palette = {kFourColours.begin(), kFourColours.begin() + 8};
    one.pixels = {0b01000000, 0, 0, 0};
    expect_pixels(one, {kBlack, kRed, kBlack});
    Bitmap two{4, 1, 2};
    two.palette = kFourColours;
    two.pixels = {0b00011011, 0, 0, 0};
    expect_pixels(two, {kBlack, kRed, kGreen, kBlue});
    Bitmap four{3, 1, 4};
    four.palette = kFourColours;
    four.n_colours = 4;
    four.pixels = {0x12, 0x30, 0, 0};
    expect_pixels(four, {kRed, kGreen, kBlue});
    Bitmap eight{2, 1, 8};
    eight.palette = kFourColours;
    eight.n_colours = 4;
    eight.pixels = {3, 200, 0, 0};  // 200 is beyond the palette: black
    expect_pixels(eight, {kBlue, kBlack});
}

TEST(Bmp, CoreHeaderHasThreeByteColours) {
    Bitmap bitmap{2, 1, 1};
    bitmap.header_bytes = 12;
    bitmap.palette = {0, 255, 0, 255, 0, 0};
    bitmap.pixels = {0b01000000, 0, 0, 0};
    expect_pixels(bitmap, {kGreen, kBlue});
}

TEST(Bmp, SixteenBitIsFiveBitsEachUnlessMasksSayOtherwise) {
    Bitmap plain{2, 1, 16};
    plain.pixels = {0x00, 0x7C, 0x10, 0x02};
    expect_pixels(plain, {kRed, {0, 131, 131}});
    Bitmap masked{2, 1, 16, 3};
    put(masked.masks, 0xF800, 4);
    put(masked.masks, 0x07E0, 4);
    put(masked.masks, 0x001F, 4);
    masked.pixels = {0x00, 0xF8, 0x00, 0x04};
    expect_pixels(masked, {kRed, {0, 129, 0}});
}

TEST(Bmp, ThirtyTwoBitDropsTheFourthByte) {
    Bitmap plain{1, 1, 32};
    plain.pixels = {1, 2, 3, 77};
    expect_pixels(plain, {{3, 2, 1}});
    Bitmap masked{1, 1, 32, 3};
    masked.header_bytes = 124;
    put(masked.masks, 0x000000FF, 4);
    put(masked.masks, 0x0000FF00, 4);
    put(masked.masks, 0x00FF0000, 4);
    masked.pixels = {1, 2, 3, 77};
    expect_pixels(masked, {{1, 2, 3}});
    Bitmap with_alpha{1, 1, 32, 6};
    with_alpha.masks = masked.masks;
    put(with_alpha.masks, 0xFF000000, 4);
    with_alpha.pixels = {1, 2, 3, 77};
    expect_pixels(with_alpha, {{1, 2, 3}});
}

TEST(Bmp, TenBitMasksScaleToEight) {
    Bitmap bitmap{1, 1, 32, 3};
    put(bitmap.masks, 0x3FF00000, 4);
    put(bitmap.masks, 0x000FFC00, 4);
    put(bitmap.masks, 0x000003FF, 4);
    put(bitmap.pixels, (1023U << 20) | (512U << 10), 4);
    expect_pixels(bitmap, {{255, 127, 0}});
}

TEST(Bmp, RunLengthEightBit) {
    Bitmap bitmap{4, 2, 8, 1};
    bitmap.palette = kFourColours;
    bitmap.n_colours = 4;
    bitmap.pixels = {3, 1, 1, 2, 0, 0,        // bottom: three red, one green
                     0, 3, 3, 2, 1, 0, 0, 0,  // top: blue, green, red as they are, padded
                     0, 1};
    expect_pixels(bitmap, {kBlue, kGreen, kRed, kBlack, kRed, kRed, kRed, kGreen});
}

TEST(Bmp, RunLengthFourBit) {
    Bitmap bitmap{5, 1, 4, 2};
    bitmap.palette = kFourColours;
    bitmap.n_colours = 4;
    bitmap.pixels = {3, 0x12, 0, 2, 1, 0, 1, 0x33, 0, 1};  // red green red, move by one, blue
    expect_pixels(bitmap, {kRed, kGreen, kRed, kBlack, kBlue});
    bitmap.pixels = {0, 5, 0x12, 0x31, 0x20, 0, 0, 1};
    expect_pixels(bitmap, {kRed, kGreen, kBlue, kRed, kGreen});
}

TEST(Bmp, RunsThatLeaveThePictureAreCut) {
    Bitmap bitmap{2, 1, 8, 1};
    bitmap.palette = kFourColours;
    bitmap.n_colours = 4;
    bitmap.pixels = {255, 1, 0, 2, 200, 200, 255, 2, 0, 1};
    expect_pixels(bitmap, {kRed, kRed});
}

TEST(Bmp, MissingRowsAndRunsMakeItPartial) {
    Bitmap rows{2, 3, 24};
    rows.pixels.assign(8, 255);
    const auto some = decode(rows);
    ASSERT_TRUE(some.ok());
    EXPECT_TRUE(some->is_partial);
    EXPECT_EQ(some->warnings.front(), "the BMP file ends early: only 1 of 3 rows are there");
    EXPECT_EQ(pixels_of(*some).front(), (Rgb{128, 128, 128}));
    rows.pixels.assign(5, 255);
    expect_error(rows, Code::Corrupt, "before its first row");
    Bitmap runs{2, 2, 8, 1};
    runs.palette = kFourColours;
    runs.n_colours = 4;
    runs.pixels = {2, 1};
    const auto half = decode(runs);
    ASSERT_TRUE(half.ok());
    EXPECT_TRUE(half->is_partial);
}

TEST(Bmp, WrongHeadersAreRefused) {
    Bitmap bitmap{2, 2, 24};
    bitmap.pixels.assign(16, 0);
    auto odd_bits = bitmap;
    odd_bits.bits = 7;
    expect_error(odd_bits, Code::Unsupported, "7 bits");
    auto jpeg_inside = bitmap;
    jpeg_inside.compression = 4;
    expect_error(jpeg_inside, Code::Unsupported, "compression 4");
    auto wrong_runs = bitmap;
    wrong_runs.compression = 1;
    expect_error(wrong_runs, Code::Corrupt, "does not fit 24 bits");
    auto negative = bitmap;
    negative.width = -2;
    expect_error(negative, Code::Corrupt, "negative");
    auto lowest = bitmap;
    lowest.height = INT32_MIN;
    expect_error(lowest, Code::TooLarge, "2147483648");
    auto zero = bitmap;
    zero.height = 0;
    expect_error(zero, Code::Corrupt, "no pixels");
    Bitmap gaps{1, 1, 32, 3};
    put(gaps.masks, 0x00F0F000, 4);
    put(gaps.masks, 0x00000F00, 4);
    put(gaps.masks, 0x000000FF, 4);
    gaps.pixels.assign(4, 0);
    expect_error(gaps, Code::Corrupt, "gaps");
    Bitmap no_palette{2, 1, 8};
    no_palette.pixels.assign(4, 0);
    expect_error(no_palette, Code::Corrupt, "no palette");
}

TEST(Bmp, EveryTruncationIsAnErrorOrPartial) {
    Bitmap bitmap{3, 3, 4, 2};
    bitmap.palette = kFourColours;
    bitmap.n_colours = 4;
    bitmap.pixels = {3, 0x12, 0, 0, 0, 3, 0x12, 0x30, 0, 0, 3, 0x33, 0, 1};
    const Buffer bytes = write(bitmap);
    ASSERT_TRUE(decode_image(bytes).ok());
    for (std::size_t size = 0; size + 2 < bytes.size(); ++size) {
        const auto image = decode_image(std::span(bytes).first(size));
        if (image.ok() && size + 4 < bytes.size()) {
            EXPECT_TRUE(image->is_partial) << size;
        }
    }
}

}  // namespace

}  // namespace clasp::image
