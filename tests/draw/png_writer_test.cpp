#include "draw/png_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "image/test_images.h"
#include "support/file_limit.h"
#include "support/paths.h"

namespace clasp::draw {

namespace {

TEST(PngWriter, WhatIsWrittenReadsBackTheSame) {
    const Image image = image::testing::noise_image(37, 23);
    const auto bytes = encode_png(image);
    ASSERT_TRUE(bytes.ok());
    const auto back = decode_image(*bytes);
    ASSERT_TRUE(back.ok()) << back.status().message();
    EXPECT_EQ(back->format, ImageFormat::Png);
    EXPECT_EQ(back->width, 37);
    EXPECT_EQ(back->rgb, image.rgb);
    const std::string path = std::string(test::scratch_dir()) + "/written.png";
    ASSERT_TRUE(write_png(image, path).ok());
    EXPECT_EQ(load_image(path)->rgb, image.rgb);
}

TEST(PngWriter, FailuresAreErrors) {
    EXPECT_EQ(encode_png(Image{}).status().code(), Code::InvalidArgument);
    const Status status = write_png(image::testing::noise_image(2, 2),
                                    std::string(test::scratch_dir()) + "/no/such/folder/x.png");
    EXPECT_EQ(status.code(), Code::NotFound);
    EXPECT_THAT(status.message(), ::testing::HasSubstr("x.png"));
}

TEST(PngWriter, AFullDiskLeavesTheOldPicture) {
    const std::string path = std::string(test::scratch_dir()) + "/full.png";
    const Image old = image::testing::noise_image(4, 4);
    ASSERT_TRUE(write_png(old, path).ok());
    {
        const test::FileLimit limit(1000);
        EXPECT_EQ(write_png(image::testing::noise_image(64, 64), path).message(),
                  "cannot write '" + path + "': File too large");
    }
    EXPECT_EQ(load_image(path)->rgb, old.rgb);
}

}  // namespace

}  // namespace clasp::draw
