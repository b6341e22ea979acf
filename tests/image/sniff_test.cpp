#include "image/sniff.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "image/test_images.h"

namespace clasp::image {

namespace {

std::vector<std::uint8_t> bytes_of(std::string_view text) {
    return {text.begin(), text.end()};
}

TEST(Sniff, GoesByContentNotByName) {
    EXPECT_EQ(sniff_image(testing::picture_bytes("hopper.jpg")), ImageFormat::Jpeg);
    EXPECT_EQ(sniff_image(testing::picture_bytes("cat_crop8.png")), ImageFormat::Png);
    EXPECT_EQ(sniff_image(testing::picture_bytes("flower.webp")), ImageFormat::Webp);
    EXPECT_EQ(sniff_image(testing::picture_bytes("anim_tiny.gif")), ImageFormat::Gif);
    EXPECT_EQ(sniff_image(bytes_of("no picture")), ImageFormat::Unknown);
    EXPECT_EQ(sniff_image({}), ImageFormat::Unknown);
}

TEST(Sniff, ShortOrSimilarBytesAreUnknown) {
    EXPECT_EQ(sniff_image(bytes_of("\x89PNG")), ImageFormat::Unknown);
    EXPECT_EQ(sniff_image(bytes_of("RIFF____WAVE")), ImageFormat::Unknown);
    EXPECT_EQ(sniff_image(bytes_of("BM is how this sentence begins")), ImageFormat::Unknown);
    EXPECT_EQ(sniff_image(bytes_of("GIF90a")), ImageFormat::Unknown);
}

TEST(Sniff, NamesWhatItIsInstead) {
    EXPECT_EQ(describe_foreign(bytes_of(std::string_view("\0\0\0\x20"
                                                         "ftypavif",
                                                         12))),
              "an AVIF picture");
    EXPECT_EQ(describe_foreign(bytes_of(std::string_view("\0\0\0\x20"
                                                         "ftypheic",
                                                         12))),
              "a HEIC picture");
    EXPECT_EQ(describe_foreign(bytes_of(std::string_view("\0\0\0\x20"
                                                         "ftypmp42",
                                                         12))),
              "an MP4 video");
    EXPECT_EQ(describe_foreign(bytes_of("%PDF-1.7")), "a PDF document");
    EXPECT_EQ(describe_foreign(bytes_of("GGUF")), "a GGUF model file");
    EXPECT_EQ(describe_foreign(bytes_of("plain words\n")), "text");
    EXPECT_EQ(describe_foreign(bytes_of("\x89")), "");
    EXPECT_EQ(describe_foreign({}), "");
}

TEST(Sniff, FormatsHaveNames) {
    EXPECT_EQ(image_format_name(ImageFormat::Webp), "WebP");
    EXPECT_EQ(image_format_name(ImageFormat::Unknown), "unknown");
}

}  // namespace

}  // namespace clasp::image
