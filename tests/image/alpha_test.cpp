// Pictures with transparency, as their colours are stored or laid on white.
#include <gtest/gtest.h>
#include <webp/encode.h>
#include <zlib.h>

#include <cstdint>
#include <string>
#include <vector>

#include "clasp/image.h"

namespace clasp::image {
namespace {

constexpr std::uint32_t kSide = 16;

// Every alpha once, under colours of all kinds.
std::vector<std::uint8_t> all_alphas(int channels) {
    std::vector<std::uint8_t> pixels;
    for (std::uint32_t i = 0; i < kSide * kSide; ++i) {
        for (int c = 0; c + 1 < channels; ++c) {
            pixels.push_back(static_cast<std::uint8_t>((i * 37 + static_cast<std::uint32_t>(c) * 91) % 256));
        }
        pixels.push_back(static_cast<std::uint8_t>(i));
    }
    return pixels;
}

void put_number(std::string& to, std::uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) to.push_back(static_cast<char>((value >> shift) & 0xffU));
}

void put_chunk(std::string& to, const std::string& name, const std::string& data) {
    put_number(to, static_cast<std::uint32_t>(data.size()));
    const std::string body = name + data;
    to += body;
    put_number(to, static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(body.data()),
                                                    static_cast<uInt>(body.size()))));
}

// colour_type: 6 for RGBA, 4 for grey with alpha.
std::string png_of(const std::vector<std::uint8_t>& pixels, char colour_type, std::uint32_t channels) {
    std::string rows;
    for (std::uint32_t row = 0; row < kSide; ++row) {
        rows.push_back(0);  // no filter
        rows.append(reinterpret_cast<const char*>(pixels.data()) + row * kSide * channels, kSide * channels);
    }
    std::string packed(compressBound(rows.size()), '\0');
    uLongf size = packed.size();
    EXPECT_EQ(compress(reinterpret_cast<Bytef*>(packed.data()), &size,
                       reinterpret_cast<const Bytef*>(rows.data()), rows.size()),
              Z_OK);
    packed.resize(size);
    std::string header;
    put_number(header, kSide);
    put_number(header, kSide);
    header += std::string({8, colour_type, 0, 0, 0});
    std::string file = "\x89PNG\r\n\x1a\n";
    put_chunk(file, "IHDR", header);
    put_chunk(file, "IDAT", packed);
    put_chunk(file, "IEND", "");
    return file;
}

Image decoded(const std::string& file, Alpha alpha) {
    auto image =
        decode_image({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()}, {.alpha = alpha});
    EXPECT_TRUE(image.ok()) << image.status().message();
    return image.ok() ? std::move(*image) : Image();
}

// c * a + 255 * (1 - a), to the nearest.
std::uint8_t on_white(std::uint8_t colour, std::uint8_t alpha) {
    const double share = alpha / 255.0;
    return static_cast<std::uint8_t>(colour * share + 255.0 * (1.0 - share) + 0.5);
}

void expect_both_ways(const std::string& file, bool keeps_hidden_colours) {
    const std::vector<std::uint8_t> pixels = all_alphas(4);
    const Image dropped = decoded(file, Alpha::Drop);
    const Image white = decoded(file, Alpha::OnWhite);
    ASSERT_EQ(white.rgb.size(), kSide * kSide * 3);
    for (std::size_t i = 0; i < kSide * kSide; ++i) {
        const std::uint8_t alpha = pixels[4 * i + 3];
        for (std::size_t c = 0; c < 3; ++c) {
            EXPECT_EQ(white.rgb[3 * i + c], on_white(pixels[4 * i + c], alpha)) << i;
            if (alpha > 0 || keeps_hidden_colours) {
                EXPECT_EQ(dropped.rgb[3 * i + c], pixels[4 * i + c]);
            }
        }
    }
}

TEST(AlphaOnWhite, OfPng) {
    expect_both_ways(png_of(all_alphas(4), 6, 4), true);
}

TEST(AlphaOnWhite, OfWebp) {
    std::uint8_t* encoded = nullptr;
    const std::vector<std::uint8_t> pixels = all_alphas(4);
    const std::size_t size = WebPEncodeLosslessRGBA(pixels.data(), kSide, kSide, kSide * 4, &encoded);
    ASSERT_GT(size, 0U);
    const std::string file(reinterpret_cast<const char*>(encoded), size);
    WebPFree(encoded);
    expect_both_ways(file, false);
}

// The original's code asks for true colour with alpha alone.
TEST(AlphaOnWhite, GreyWithAlphaIsTakenAsStored) {
    const std::string file = png_of(all_alphas(2), 4, 2);
    EXPECT_EQ(decoded(file, Alpha::OnWhite).rgb, decoded(file, Alpha::Drop).rgb);
}

}  // namespace
}  // namespace clasp::image
