// Resampling against Pillow's own results and against a slow reference in double precision.
#include "image/resize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "image/test_images.h"

namespace clasp::image {

using testing::hash_of;
using testing::noise_image;

namespace {

struct ResizeReference {
    Size from;
    Size to;
    Filter filter;
    std::uint64_t hash;
};

// Made by tests/data/images/pillow_reference.py with Pillow 9.4.0.
constexpr ResizeReference kPillowResize[] = {
    {{97, 61}, {33, 40}, Filter::Bilinear, 0x3FFD07DF6E98B8DE},
    {{97, 61}, {33, 40}, Filter::Bicubic, 0x7A8120BF66284D46},
    {{97, 61}, {33, 40}, Filter::Lanczos, 0xBFBC4228B14534A3},
    {{97, 61}, {200, 61}, Filter::Bilinear, 0x5D27BA38E15EFADA},
    {{97, 61}, {200, 61}, Filter::Bicubic, 0xFA10AA951E557BE0},
    {{97, 61}, {200, 61}, Filter::Lanczos, 0xEB459F360E106477},
    {{97, 61}, {97, 25}, Filter::Bilinear, 0xAC13B03B5EFCB51A},
    {{97, 61}, {97, 25}, Filter::Bicubic, 0x16870BBD809BEE6A},
    {{97, 61}, {97, 25}, Filter::Lanczos, 0x364408D6EEACDF59},
    {{40, 30}, {113, 97}, Filter::Bilinear, 0x26CC2F1947178333},
    {{40, 30}, {113, 97}, Filter::Bicubic, 0x34148540304240FD},
    {{40, 30}, {113, 97}, Filter::Lanczos, 0x6B6DB04B619869C9},
    {{300, 7}, {13, 29}, Filter::Bilinear, 0x7EF8677C3442001F},
    {{300, 7}, {13, 29}, Filter::Bicubic, 0xAD000B07A64C7A58},
    {{300, 7}, {13, 29}, Filter::Lanczos, 0x8F5E2A4C4F603031},
    {{2, 2}, {7, 5}, Filter::Bilinear, 0x9B6AA2B27C734A16},
    {{2, 2}, {7, 5}, Filter::Bicubic, 0x6164CF9174EF8DEF},
    {{2, 2}, {7, 5}, Filter::Lanczos, 0x31F818B894C22FED},
};

TEST(Resize, EqualsPillowToTheBit) {
    for (const ResizeReference& reference : kPillowResize) {
        const auto image =
            resize(noise_image(reference.from.width, reference.from.height), reference.to, reference.filter);
        ASSERT_TRUE(image.ok()) << image.status().message();
        EXPECT_EQ(hash_of(*image), reference.hash)
            << reference.from.width << " x " << reference.from.height << " to " << reference.to.width << " x "
            << reference.to.height << ", filter " << static_cast<int>(reference.filter);
    }
}

// Keys' cubic kernel with a = -1/2, written as in the definition.
double cubic(double x) {
    x = std::abs(x);
    if (x < 1) return 1.5 * x * x * x - 2.5 * x * x + 1;
    if (x < 2) return -0.5 * x * x * x + 2.5 * x * x - 4 * x + 2;
    return 0;
}

// One axis of a resize, straight from the definition: no fixed point, no rounding in between.
std::vector<double> slow_axis(const std::vector<double>& in, std::size_t n_out) {
    const double scale = static_cast<double>(in.size()) / static_cast<double>(n_out);
    const double stretch = std::max(scale, 1.0);
    std::vector<double> out;
    for (std::size_t o = 0; o < n_out; ++o) {
        const double centre = (static_cast<double>(o) + 0.5) * scale;
        double sum = 0;
        double total = 0;
        for (std::size_t i = 0; i < in.size(); ++i) {
            const double weight = cubic((static_cast<double>(i) + 0.5 - centre) / stretch);
            sum += weight * in[i];
            total += weight;
        }
        out.push_back(sum / total);
    }
    return out;
}

TEST(Resize, IsWithinRoundingOfTheExactFilter) {
    const Image image = noise_image(37, 1, 5);
    for (const int width : {5, 12, 36, 38, 111}) {
        const auto resized = resize(image, {width, 1}, Filter::Bicubic);
        ASSERT_TRUE(resized.ok());
        for (std::size_t channel = 0; channel < 3; ++channel) {
            std::vector<double> line;
            for (std::size_t x = 0; x < 37; ++x) line.push_back(image.rgb[x * 3 + channel]);
            const auto want = slow_axis(line, static_cast<std::size_t>(width));
            for (std::size_t x = 0; x < want.size(); ++x) {
                EXPECT_NEAR(resized->rgb[x * 3 + channel], std::clamp(want[x], 0.0, 255.0), 0.501)
                    << width << " " << x;
            }
        }
    }
}

TEST(Resize, KeepsOneColourAndTheIdentity) {
    Image flat = noise_image(31, 17);
    for (std::size_t i = 0; i < flat.rgb.size(); ++i)
        flat.rgb[i] = static_cast<std::uint8_t>(40 + 70 * (i % 3));
    for (const Filter filter : {Filter::Bilinear, Filter::Bicubic, Filter::Lanczos}) {
        const auto resized = resize(flat, {12, 50}, filter);
        ASSERT_TRUE(resized.ok());
        for (std::size_t i = 0; i < resized->rgb.size(); ++i) ASSERT_EQ(resized->rgb[i], 40 + 70 * (i % 3));
        const Image noise = noise_image(9, 8);
        EXPECT_EQ(resize(noise, {9, 8}, filter)->rgb, noise.rgb);
    }
}

TEST(Resize, OnACanvasEqualsPaintingTheCanvasFirst) {
    const Image image = noise_image(40, 9, 3);
    for (const Size target : {Size{16, 16}, Size{60, 60}, Size{40, 20}, Size{20, 40}}) {
        const Canvas canvas{{40, 40}, 0, 15, {122, 116, 104}};
        const auto painted = paint_on_canvas(image, canvas);
        ASSERT_TRUE(painted.ok());
        EXPECT_EQ(resize_on_canvas(image, canvas, target, Filter::Bicubic)->rgb,
                  resize(*painted, target, Filter::Bicubic)->rgb);
    }
}

TEST(Canvas, PaintsThePictureWhereItShould) {
    Image dot = noise_image(1, 1);
    dot.rgb = {9, 8, 7};
    const auto painted = paint_on_canvas(dot, {{3, 2}, 2, 1, {1, 2, 3}});
    ASSERT_TRUE(painted.ok());
    EXPECT_THAT(painted->rgb, ::testing::ElementsAre(1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 9, 8, 7));
}

TEST(Crop, TakesExactlyTheRectangle) {
    const Image image = noise_image(6, 5);
    const auto piece = crop(image, 2, 1, {3, 2});
    ASSERT_TRUE(piece.ok());
    for (std::size_t y = 0; y < 2; ++y) {
        for (std::size_t i = 0; i < 9; ++i) {
            EXPECT_EQ(piece->rgb[y * 9 + i], image.rgb[(y + 1) * 18 + 6 + i]);
        }
    }
}

TEST(Resize, ImpossibleSizesAreErrors) {
    const Image image = noise_image(4, 4);
    EXPECT_EQ(resize(image, {0, 4}, Filter::Bicubic).status().code(), Code::InvalidArgument);
    EXPECT_EQ(resize(image, {4, -1}, Filter::Bicubic).status().code(), Code::InvalidArgument);
    EXPECT_EQ(resize(image, {kMaxResizeSide + 1, 4}, Filter::Bicubic).status().code(), Code::InvalidArgument);
    EXPECT_EQ(resize(Image{}, {4, 4}, Filter::Bicubic).status().code(), Code::InvalidArgument);
    EXPECT_EQ(paint_on_canvas(image, {{5, 5}, 2, 0, {}}).status().code(), Code::InvalidArgument);
    EXPECT_EQ(paint_on_canvas(image, {{5, 5}, 0, -1, {}}).status().code(), Code::InvalidArgument);
    EXPECT_EQ(crop(image, 1, 0, {4, 4}).status().code(), Code::InvalidArgument);
    EXPECT_EQ(crop(image, 0, -1, {2, 2}).status().code(), Code::InvalidArgument);
}

}  // namespace

}  // namespace clasp::image
