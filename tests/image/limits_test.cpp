#include "image/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "image/test_images.h"

namespace clasp::image {

namespace {

TEST(CheckSize, AcceptsUpToEachLimitAndNoFurther) {
    ImageLimits limits;
    limits.max_side = 1000;
    limits.max_pixels = 500'000;
    limits.min_side = 3;
    limits.max_aspect_ratio = 50.0;
    EXPECT_TRUE(check_size(1000, 500, limits).ok());
    EXPECT_EQ(check_size(1001, 400, limits).code(), Code::TooLarge);
    EXPECT_EQ(check_size(400, 1001, limits).code(), Code::TooLarge);
    EXPECT_EQ(check_size(1000, 501, limits).code(), Code::TooLarge);
    EXPECT_TRUE(check_size(3, 3, limits).ok());
    EXPECT_EQ(check_size(2, 3, limits).code(), Code::InvalidArgument);
    EXPECT_TRUE(check_size(150, 3, limits).ok());
    EXPECT_EQ(check_size(3, 151, limits).code(), Code::TooLarge);
    EXPECT_EQ(check_size(0, 10, limits).code(), Code::Corrupt);
}

TEST(CheckSize, DoesNotOverflow) {
    constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
    EXPECT_EQ(check_size(kMax, kMax, {}).code(), Code::TooLarge);
    ImageLimits absurd;
    absurd.max_side = kMax;
    absurd.max_pixels = kMax;
    EXPECT_EQ(check_size(kMax, kMax, absurd).code(), Code::TooLarge);
    EXPECT_EQ(make_image(kMax, kMax, 0).status().code(), Code::TooLarge);
    EXPECT_EQ(make_image(std::uint64_t{1} << 40, 1, 0).status().code(), Code::TooLarge);
}

TEST(CheckSize, MessagesNameTheSizeAndTheLimit) {
    EXPECT_EQ(check_size(20000, 10, {}).message(),
              "a picture of 20000 x 10 pixels exceeds the limit of 16384 pixels per side");
    EXPECT_EQ(check_size(10000, 10, {}).message(),
              "a picture of 10000 x 10 pixels exceeds the aspect ratio limit of 200 to 1");
}

TEST(CheckSize, GuardsEveryDecoder) {
    ImageOptions options;
    options.limits.max_pixels = 50;
    for (const char* name : {"hopper.jpg", "palette_color.png", "logo_rgb.webp", "anim_tiny.gif"}) {
        const auto image = load_image(testing::picture_path(name), options);
        ASSERT_FALSE(image.ok()) << name;
        EXPECT_EQ(image.status().code(), Code::TooLarge) << name;
        EXPECT_THAT(image.status().message(), ::testing::HasSubstr("50 pixels")) << name;
    }
}

}  // namespace

}  // namespace clasp::image
