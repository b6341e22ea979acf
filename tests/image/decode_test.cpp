// What decode_image makes of real files, and how it refuses broken ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "image/test_images.h"

namespace clasp::image {

using testing::mean_absolute_difference;
using testing::mean_rgb;
using testing::picture_bytes;
using testing::picture_path;

namespace {

struct Good {
    const char* file;
    ImageFormat format;
    int width;  // upright
    int height;
    std::array<double, 3> mean;
    double tolerance;  // 0.01 where the format is lossless
    int orientation = 1;
};

constexpr Good kGood[] = {
    {"anim_ball.apng.png", ImageFormat::Png, 100, 100, {20.85, 23.73, 18.04}, 0.01},
    {"anim_combine.gif", ImageFormat::Gif, 1000, 1000, {235.12, 99.42, 100.32}, 0.01},
    {"anim_dispose_background.gif", ImageFormat::Gif, 100, 100, {72.45, 169.07, 246.91}, 0.01},
    {"anim_tiny.gif", ImageFormat::Gif, 14, 25, {111.90, 116.51, 107.32}, 0.01},
    {"cat_crop16.png", ImageFormat::Png, 160, 120, {143.55, 103.56, 68.85}, 0.01},
    {"cat_crop8.png", ImageFormat::Png, 160, 120, {143.55, 103.56, 68.85}, 0.01},
    {"cat_progressive.jpg", ImageFormat::Jpeg, 320, 240, {137.48, 143.20, 128.04}, 1.0},
    {"exif_flower_bigendian_8.jpg", ImageFormat::Jpeg, 360, 480, {119.30, 131.99, 94.10}, 1.0, 8},
    {"flower.jpg", ImageFormat::Jpeg, 480, 360, {119.30, 131.99, 94.10}, 1.0},
    {"flower.webp", ImageFormat::Webp, 480, 360, {119.42, 132.08, 94.30}, 1.0},
    {"hopper.jpg", ImageFormat::Jpeg, 128, 128, {89.72, 80.08, 95.41}, 1.0},
    {"hopper_gray.jpg", ImageFormat::Jpeg, 128, 128, {84.69, 84.69, 84.69}, 1.0},
    {"horse.png", ImageFormat::Png, 400, 328, {170.67, 170.67, 170.67}, 0.01},
    {"logo_cmyk.jpg", ImageFormat::Jpeg, 100, 100, {32.94, 10.64, 6.15}, 1.0},
    {"logo_gray_alpha.png", ImageFormat::Png, 100, 100, {13.54, 13.54, 13.54}, 0.01},
    {"logo_rgb.webp", ImageFormat::Webp, 100, 100, {26.68, 9.52, 6.56}, 1.0},
    {"logo_rgba.png", ImageFormat::Png, 100, 100, {32.45, 10.31, 5.94}, 0.01},
    {"lossless.webp", ImageFormat::Webp, 300, 300, {249.44, 135.69, 56.90}, 0.01},
    {"lossy_alpha.webp", ImageFormat::Webp, 100, 100, {10.93, 58.05, 171.72}, 1.0},
    {"palette_color.png", ImageFormat::Png, 10, 10, {116.28, 114.24, 123.93}, 0.01},
    {"png16_gray_interlaced.png", ImageFormat::Png, 32, 32, {144.21, 144.21, 144.21}, 0.01},
    {"png16_rgb.png", ImageFormat::Png, 32, 32, {127.5, 127.5, 43.77}, 0.01},
    {"png16_rgba.png", ImageFormat::Png, 32, 32, {127.5, 127.5, 63.75}, 0.01},
    {"png8_rgb_interlaced.png", ImageFormat::Png, 32, 32, {191.25, 191.25, 191.25}, 0.01},
    {"png_palette_trns.png", ImageFormat::Png, 32, 32, {167.14, 174.38, 169.31}, 0.01},
    {"sample_cmyk.jpg", ImageFormat::Jpeg, 100, 100, {30.23, 5.44, 7.39}, 1.0},
    // Harmless defects: a broken Exif block counts as upright.
    {"jpeg_exif_bad_offset.jpg", ImageFormat::Jpeg, 128, 128, {89.72, 80.08, 95.41}, 1.0},
    {"jpeg_exif_huge_count.jpg", ImageFormat::Jpeg, 128, 128, {89.72, 80.08, 95.41}, 1.0},
    {"jpeg_exif_orientation_9.jpg", ImageFormat::Jpeg, 128, 128, {89.72, 80.08, 95.41}, 1.0},
};

class GoodPicture : public ::testing::TestWithParam<Good> {};

TEST_P(GoodPicture, DecodesToItsSizeAndColours) {
    const Good& want = GetParam();
    const auto image = load_image(picture_path(want.file));
    ASSERT_TRUE(image.ok()) << image.status().message();
    EXPECT_EQ(image->format, want.format);
    EXPECT_EQ(image->width, want.width);
    EXPECT_EQ(image->height, want.height);
    EXPECT_EQ(image->rgb.size(), static_cast<std::size_t>(want.width * want.height * 3));
    EXPECT_EQ(image->orientation, want.orientation);
    EXPECT_FALSE(image->is_partial);
    EXPECT_THAT(image->warnings, ::testing::IsEmpty());
    const auto mean = mean_rgb(*image);
    for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(mean[c], want.mean[c], want.tolerance) << "channel " << c;
}

std::string test_name(const char* file) {
    std::string name = file;
    std::replace_if(
        name.begin(), name.end(), [](char c) { return c == '.' || c == '-'; }, '_');
    return name;
}

TEST_P(GoodPicture, HasTheSizeThatItsHeaderSays) {
    const std::vector<std::uint8_t> bytes = picture_bytes(GetParam().file);
    for (const bool is_turned : {true, false}) {
        ImageOptions options;
        options.apply_orientation = is_turned;
        const auto header = read_image_header(bytes, options);
        const auto image = decode_image(bytes, options);
        ASSERT_TRUE(header.ok()) << header.status().message();
        ASSERT_TRUE(image.ok());
        EXPECT_EQ(header->size, (PixelSize{image->width, image->height}));
        EXPECT_EQ(header->format, image->format);
        EXPECT_EQ(header->orientation, image->orientation);
    }
}

INSTANTIATE_TEST_SUITE_P(Files, GoodPicture, ::testing::ValuesIn(kGood),
                         [](const auto& test) { return test_name(test.param.file); });

struct Bad {
    const char* file;
    Code code;
    const char* says;  // part of the message
};

constexpr Bad kBad[] = {
    {"gif_bomb_header.gif", Code::Corrupt, "GIF"},
    {"gif_huge_canvas.gif", Code::TooLarge, "65535 x 65535"},
    {"gif_zero_width.gif", Code::Corrupt, "no pixels"},
    {"jpeg_corrupt34_2.jpg", Code::Corrupt, "no decodable pixels"},
    {"jpeg_huge_dims.jpg", Code::TooLarge, "65500 x 65500"},
    {"jpeg_soi_only.jpg", Code::Corrupt, "JPEG"},
    {"jpeg_zero_height.jpg", Code::Corrupt, "JPEG"},
    {"png_bad_bitdepth.png", Code::Corrupt, "IHDR"},
    {"png_bad_filter.png", Code::Corrupt, "filter"},
    {"png_bomb_10000x10000.png", Code::TooLarge, "50000000 pixels"},
    {"png_huge_dims.png", Code::TooLarge, "2147483647"},
    {"png_missing_plte.png", Code::Corrupt, "PLTE"},
    {"png_sigsegv.png", Code::Corrupt, "PNG"},
    {"png_zero_width.png", Code::Corrupt, "PNG"},
    {"webp_huge_canvas.webp", Code::TooLarge, "16777216 x 16777216"},
};

class BadPicture : public ::testing::TestWithParam<Bad> {};

TEST_P(BadPicture, IsRefusedInOneSentence) {
    const auto image = load_image(picture_path(GetParam().file));
    ASSERT_FALSE(image.ok());
    EXPECT_EQ(image.status().code(), GetParam().code);
    const std::string message = image.status().message();
    EXPECT_THAT(message, ::testing::HasSubstr(GetParam().says));
    EXPECT_THAT(message, ::testing::HasSubstr(GetParam().file));
    EXPECT_EQ(message.find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Files, BadPicture, ::testing::ValuesIn(kBad),
                         [](const auto& test) { return test_name(test.param.file); });

struct Damaged {
    const char* file;
    int width;
    int height;
    bool is_partial;  // else whole, with a warning
};

constexpr Damaged kDamaged[] = {
    {"gif_out_of_bounds.gif", 32, 32, false},
    {"jpeg_bad_huffman.jpg", 1024, 768, true},
    {"jpeg_corrupt.jpg", 120, 90, true},
    {"jpeg_corrupt34_3.jpg", 2544, 3300, true},
    {"jpeg_truncated_app14.jpg", 100, 100, false},
    {"jpeg_truncated_small.jpg", 100, 100, false},
    {"png_truncated_end_chunk.png", 128, 128, false},
};

class DamagedPicture : public ::testing::TestWithParam<Damaged> {};

TEST_P(DamagedPicture, KeepsItsSizeAndTellsTheCaller) {
    const auto image = load_image(picture_path(GetParam().file));
    ASSERT_TRUE(image.ok()) << image.status().message();
    EXPECT_EQ(image->width, GetParam().width);
    EXPECT_EQ(image->height, GetParam().height);
    EXPECT_EQ(image->is_partial, GetParam().is_partial);
    EXPECT_THAT(image->warnings, ::testing::Not(::testing::IsEmpty()));
}

INSTANTIATE_TEST_SUITE_P(Files, DamagedPicture, ::testing::ValuesIn(kDamaged),
                         [](const auto& test) { return test_name(test.param.file); });

TEST(Orientation, AllEightShowTheSamePicture) {
    const auto upright = load_image(picture_path("hopper.jpg"));
    ASSERT_TRUE(upright.ok());
    for (int orientation = 2; orientation <= 8; ++orientation) {
        const std::string name = "exif_orientation_" + std::to_string(orientation) + ".jpg";
        const auto turned = load_image(picture_path(name));
        ASSERT_TRUE(turned.ok()) << name;
        EXPECT_EQ(turned->orientation, orientation);
        EXPECT_LT(mean_absolute_difference(*turned, *upright), 6.0) << name;
        ImageOptions as_stored;
        as_stored.apply_orientation = false;
        const auto stored = load_image(picture_path(name), as_stored);
        ASSERT_TRUE(stored.ok()) << name;
        EXPECT_EQ(stored->orientation, orientation);
        EXPECT_GT(mean_absolute_difference(*stored, *upright), 20.0) << name;
    }
}

TEST(Decode, SixteenBitSamplesLoseTheirLowByte) {
    const auto deep = load_image(picture_path("cat_crop16.png"));
    const auto plain = load_image(picture_path("cat_crop8.png"));
    ASSERT_TRUE(deep.ok() && plain.ok());
    EXPECT_EQ(deep->rgb, plain->rgb);
}

// Every length near the header, then about 300 more.
TEST(Decode, TruncationGivesAPictureOfTheRightSizeOrAnError) {
    for (const char* name :
         {"hopper.jpg", "jpeg_truncated_small.jpg", "palette_color.png", "png16_rgba.png",
          "png8_rgb_interlaced.png", "logo_rgb.webp", "lossy_alpha.webp", "anim_tiny.gif"}) {
        const auto bytes = picture_bytes(name);
        const auto whole = decode_image(bytes);
        ASSERT_TRUE(whole.ok()) << name;
        bool was_refused = false;
        const std::size_t stride = std::max<std::size_t>(1, bytes.size() / 300);
        for (std::size_t size = 0; size < bytes.size(); size += size < 200 ? 1 : stride) {
            const auto cut = decode_image(std::span(bytes).first(size));
            was_refused = was_refused || !cut.ok();
            if (!cut.ok()) continue;
            EXPECT_EQ(cut->width, whole->width) << name << " cut at " << size;
            EXPECT_EQ(cut->height, whole->height) << name << " cut at " << size;
            if (cut->rgb != whole->rgb) {
                EXPECT_FALSE(cut->warnings.empty()) << name << " cut at " << size;
            }
        }
        EXPECT_TRUE(was_refused) << name;
    }
}

TEST(Decode, EveryCutOfAGifIsNoticed) {
    const auto bytes = picture_bytes("anim_tiny.gif");
    const auto whole = decode_image(bytes);
    ASSERT_TRUE(whole.ok());
    EXPECT_THAT(whole->warnings, ::testing::IsEmpty());
    bool has_whole_frame = false;
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        const auto cut = decode_image(std::span(bytes).first(size));
        if (!cut.ok()) continue;
        EXPECT_THAT(cut->warnings, ::testing::Not(::testing::IsEmpty())) << "cut at " << size;
        has_whole_frame = has_whole_frame || !cut->is_partial;
    }
    EXPECT_TRUE(has_whole_frame);
}

TEST(Decode, HalfAJpegKeepsItsUpperHalf) {
    const auto bytes = picture_bytes("flower.jpg");
    const auto whole = decode_image(bytes);
    const auto half = decode_image(std::span(bytes).first(bytes.size() / 2));
    ASSERT_TRUE(whole.ok() && half.ok());
    EXPECT_TRUE(half->is_partial);
    const std::size_t sound = static_cast<std::size_t>(whole->width) * 3 * 64;
    EXPECT_TRUE(std::equal(half->rgb.begin(), half->rgb.begin() + static_cast<std::ptrdiff_t>(sound),
                           whole->rgb.begin()));
    EXPECT_THAT(half->warnings.front(), ::testing::HasSubstr("rows are sound"));
}

TEST(Decode, HalfAProgressiveJpegLacksDetailAndSaysSo) {
    const auto bytes = picture_bytes("cat_progressive.jpg");
    const auto half = decode_image(std::span(bytes).first(bytes.size() / 2));
    ASSERT_TRUE(half.ok()) << half.status().message();
    EXPECT_TRUE(half->is_partial);
}

TEST(Decode, FlippedBytesNeverChangeTheSizeInSilence) {
    const auto bytes = picture_bytes("hopper.jpg");
    const auto png = picture_bytes("png16_rgba.png");
    for (const auto* source : {&bytes, &png}) {
        for (std::size_t at = 0; at < source->size(); at += 31) {
            auto copy = *source;
            copy[at] ^= 0x5A;
            const auto image = decode_image(copy);
            if (image.ok()) {
                EXPECT_EQ(image->rgb.size(), static_cast<std::size_t>(image->width) *
                                                 static_cast<std::size_t>(image->height) * 3);
            }
        }
    }
}

TEST(Decode, ProgressiveScansAreBounded) {
    ImageOptions options;
    options.limits.max_scans = 2;
    const auto image = load_image(picture_path("cat_progressive.jpg"), options);
    ASSERT_FALSE(image.ok());
    EXPECT_THAT(image.status().message(), ::testing::HasSubstr("more than 2 scans"));
}

TEST(Decode, OtherContentGetsOneClearLine) {
    const std::vector<std::uint8_t> mp4 = {0, 0, 0, 32, 'f', 't', 'y', 'p', 'i', 's', 'o', 'm'};
    const auto video = decode_image(mp4);
    ASSERT_FALSE(video.ok());
    EXPECT_EQ(video.status().code(), Code::Unsupported);
    EXPECT_EQ(video.status().message(),
              "the content is an MP4 video; pictures must be JPEG, PNG, WebP, GIF or BMP");
    const auto nothing = decode_image({});
    ASSERT_FALSE(nothing.ok());
    EXPECT_EQ(nothing.status().message(), "the picture file is empty");
}

TEST(Load, MissingFilesAndFoldersAreErrorsThatNameThePath) {
    const auto missing = load_image(picture_path("no_such_file.png"));
    ASSERT_FALSE(missing.ok());
    EXPECT_EQ(missing.status().code(), Code::NotFound);
    EXPECT_THAT(missing.status().message(), ::testing::HasSubstr("no_such_file.png"));
    const auto folder = load_image(picture_path(""));
    ASSERT_FALSE(folder.ok());
    EXPECT_EQ(folder.status().code(), Code::InvalidArgument);
    EXPECT_THAT(folder.status().message(), ::testing::HasSubstr("not a regular file"));
}

TEST(Load, FilesOverTheByteLimitAreRefused) {
    ImageOptions options;
    options.limits.max_file_bytes = 1000;
    const auto image = load_image(picture_path("hopper.jpg"), options);
    ASSERT_FALSE(image.ok());
    EXPECT_EQ(image.status().code(), Code::TooLarge);
    EXPECT_THAT(image.status().message(), ::testing::HasSubstr("the limit of 1000"));
}

}  // namespace

}  // namespace clasp::image
