#include "draw/jpeg_writer.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "support/paths.h"

namespace clasp::draw {
namespace {

Image colours(int width, int height) {
    Image image;
    image.width = width;
    image.height = height;
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
            image.rgb.push_back(static_cast<std::uint8_t>(x * 255 / width));
            image.rgb.push_back(static_cast<std::uint8_t>(y * 255 / height));
            image.rgb.push_back(90);
        }
    }
    return image;
}

Result<Image> decode(const std::string& bytes) {
    return decode_image({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

TEST(JpegWriter, WhatIsWrittenReadsBackAlike) {
    const Image image = colours(67, 41);  // no multiples of a block
    const auto bytes = encode_jpeg(image);
    ASSERT_TRUE(bytes.ok()) << bytes.status().message();
    const auto back = decode(*bytes);
    ASSERT_TRUE(back.ok()) << back.status().message();
    EXPECT_EQ(back->format, ImageFormat::Jpeg);
    EXPECT_FALSE(back->is_partial);
    ASSERT_EQ(back->width, image.width);
    ASSERT_EQ(back->height, image.height);
    int worst = 0;
    for (std::size_t i = 0; i < image.rgb.size(); ++i) {
        worst = std::max(worst, std::abs(static_cast<int>(image.rgb[i]) - static_cast<int>(back->rgb[i])));
    }
    EXPECT_LE(worst, 12);
}

// A red line of one pixel on white stays red: colour is not stored at half the resolution.
TEST(JpegWriter, ThinColouredLinesStayColoured) {
    Image image;
    image.width = 32;
    image.height = 32;
    image.rgb.assign(32 * 32 * 3, 255);
    for (std::size_t y = 0; y < 32; ++y) {
        image.rgb[(y * 32 + 15) * 3 + 1] = 0;
        image.rgb[(y * 32 + 15) * 3 + 2] = 0;
    }
    const auto back = decode(*encode_jpeg(image));
    ASSERT_TRUE(back.ok());
    const std::uint8_t* pixel = back->rgb.data() + (16 * 32 + 15) * 3;
    EXPECT_GT(pixel[0], 200);
    EXPECT_LT(pixel[1], 70);
    EXPECT_LT(pixel[2], 70);
}

TEST(JpegWriter, RefusesWhatHasNoJpegForm) {
    EXPECT_EQ(encode_jpeg({}).status().code(), Code::InvalidArgument);
    Image wide;
    wide.width = 65501;
    wide.height = 1;
    wide.rgb.assign(65501 * 3, 0);
    EXPECT_EQ(encode_jpeg(wide).status().code(), Code::InvalidArgument);
}

TEST(JpegWriter, AFileAppearsWholeOrNotAtAll) {
    const std::string folder = std::string(test::scratch_dir()) + "/jpeg";
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    ASSERT_TRUE(write_jpeg(colours(9, 9), folder + "/a.jpg").ok());
    EXPECT_TRUE(load_image(folder + "/a.jpg").ok());
    EXPECT_FALSE(write_jpeg(colours(9, 9), folder + "/no/such/a.jpg").ok());
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

}  // namespace
}  // namespace clasp::draw
