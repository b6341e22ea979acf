// What decoding may cost: counted work, the clock on the wall, and a flag that stops it.
#include "image/work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "image/exif.h"
#include "image/gif_codes.h"
#include "image/test_images.h"
#include "support/image_bombs.h"

namespace clasp::image {

namespace {

using test::PictureBytes;
using ::testing::HasSubstr;

constexpr std::uint64_t kSeldomLooked = std::uint64_t{1} << 20;  // more than the units between two looks

double now = 0.0;
double fake_clock() {
    return now;
}

ImageOptions with_work(std::uint64_t max_work) {
    ImageOptions options;
    options.limits.max_work = max_work;
    return options;
}

// One small whole picture of each format and variant.
std::vector<PictureBytes> pictures() {
    return {test::flat_jpeg({.width = 64, .height = 64}),
            test::flat_jpeg({.width = 64, .height = 64, .is_progressive = true}),
            test::flat_jpeg({.width = 64, .height = 64, .is_arithmetic = true}),
            test::flat_jpeg({.width = 64, .height = 64, .restart_interval = 1}),
            test::flat_png({.width = 64, .height = 64}),
            test::flat_png({.width = 64, .height = 64, .bits = 16, .is_interlaced = true}),
            test::flat_webp(64, 64),
            test::flat_gif(64, 64),
            test::bmp_of_runs(64, 64, 64)};
}

void expect_too_much_work(const PictureBytes& picture, std::uint64_t max_work) {
    const auto image = decode_image(picture, with_work(max_work));
    ASSERT_FALSE(image.ok());
    EXPECT_EQ(image.status().code(), Code::TooLarge);
    EXPECT_EQ(image.status().message(), "decoding the picture takes more work than the limit of " +
                                            std::to_string(max_work) + " colour samples, all passes counted");
}

void expect_decodes(const PictureBytes& picture, std::uint64_t max_work) {
    const auto image = decode_image(picture, with_work(max_work));
    EXPECT_TRUE(image.ok()) << image.status().message();
}

TEST(Work, GoesUpToItsLimitAndStaysStopped) {
    Work work(with_work(100));
    EXPECT_TRUE(work.spend(60));
    EXPECT_TRUE(work.spend(40));
    EXPECT_TRUE(work.status().ok());
    EXPECT_FALSE(work.spend(1));
    EXPECT_FALSE(work.spend(0));
    EXPECT_EQ(work.spent(), 100U);
    EXPECT_EQ(work.status().code(), Code::TooLarge);
    EXPECT_FALSE(Work(with_work(5)).spend(~std::uint64_t{0})) << "no overflow";
}

TEST(Work, StopsWhenItsTimeIsUp) {
    now = 1000.0;
    ImageOptions options;
    options.limits.max_seconds = 2.5;
    Work work(options, fake_clock);
    EXPECT_TRUE(work.spend(kSeldomLooked));
    now = 1002.4;
    EXPECT_TRUE(work.spend(kSeldomLooked));
    now = 1002.5;
    EXPECT_FALSE(work.spend(kSeldomLooked));
    EXPECT_EQ(work.status().message(), "decoding the picture takes longer than the limit of 2.5 seconds");
    EXPECT_EQ(work.status().code(), Code::TooLarge);
}

TEST(Work, StopsWhenTheFlagIsSet) {
    std::atomic<bool> cancel{false};
    ImageOptions options;
    options.cancel = &cancel;
    Work work(options);
    EXPECT_TRUE(work.spend(kSeldomLooked));
    cancel = true;
    EXPECT_FALSE(work.spend(kSeldomLooked));
    EXPECT_EQ(work.status().code(), Code::Cancelled);
}

// Ten scans of a photograph without subsampling are fourteen samples per pixel, its rows three more.
TEST(Work, TheLargestPhotographFits) {
    const ImageLimits limits;
    EXPECT_GE(limits.max_work, 17 * limits.max_pixels);
}

TEST(Work, IsCountedByEveryDecoder) {
    for (const PictureBytes& picture : pictures()) {
        expect_decodes(picture, std::uint64_t{1} << 22);
        expect_too_much_work(picture, 64 * 64 - 1);
    }
}

TEST(Work, EveryDecoderStopsInTime) {
    ImageOptions options;
    options.limits.max_seconds = 0.0;
    for (const PictureBytes& picture : pictures()) {
        const auto image = decode_image(picture, options);
        ASSERT_FALSE(image.ok());
        EXPECT_EQ(image.status().message(), "decoding the picture takes longer than the limit of 0 seconds");
    }
}

TEST(Work, EveryDecoderStopsWhenCancelled) {
    const std::atomic<bool> cancel{true};
    ImageOptions options;
    options.cancel = &cancel;
    for (const PictureBytes& picture : pictures()) {
        EXPECT_EQ(decode_image(picture, options).status().code(), Code::Cancelled);
    }
    EXPECT_EQ(load_image(testing::picture_path("flower.jpg"), options).status().message(), "cancelled");
}

TEST(Work, TurningIsCounted) {
    Work work(with_work(64 * 64 * 3 - 1));
    Image image = testing::noise_image(64, 64);
    image.orientation = 6;
    EXPECT_EQ(turn_upright(std::move(image), work).status().code(), Code::TooLarge);
}

// The list that libjpeg would make of these takes it time in the square of their number.
TEST(JpegBomb, MarkersCostTheSameEach) {
    constexpr std::size_t kMarkers = 100'000;
    for (const int marker : {0xE1, 0xE2, 0xFE}) {
        const auto bomb =
            test::with_markers(test::flat_jpeg({}), static_cast<std::uint8_t>(marker), kMarkers);
        expect_decodes(bomb, (kMarkers + 100) * kMarkerWork);
        expect_too_much_work(bomb, kMarkers * kMarkerWork / 2);
    }
}

TEST(JpegBomb, TheFirstExifBlockCountsHoweverManyOthersThereAre) {
    const auto turned = testing::picture_bytes("exif_orientation_6.jpg");
    const auto image = decode_image(test::with_markers(turned, 0xE1, 1000, 5));
    ASSERT_TRUE(image.ok());
    EXPECT_EQ(image->orientation, 6);
    EXPECT_EQ(image->rgb, decode_image(turned)->rgb);
}

TEST(JpegBomb, AMarkerThatGoesBeyondTheFileEndsIt) {
    auto cut = testing::picture_bytes("exif_orientation_6.jpg");
    const PictureBytes app1 = {0xFF, 0xE1};
    const auto at = std::search(cut.begin(), cut.end(), app1.begin(), app1.end());
    ASSERT_NE(at, cut.end());
    for (const std::ptrdiff_t n_bytes : {2, 3, 4, 20}) {
        const PictureBytes part(cut.begin(), at + n_bytes);
        EXPECT_EQ(decode_image(part).status().code(), Code::Corrupt);
    }
    at[2] = 0;
    at[3] = 1;  // less than its own two bytes
    const auto image = decode_image(cut);
    ASSERT_TRUE(image.ok()) << image.status().message();
    EXPECT_THAT(image->warnings, ::testing::Not(::testing::IsEmpty()));
    EXPECT_EQ(image->orientation, 1);
}

TEST(JpegBomb, EveryScanCounts) {
    const auto picture = test::flat_jpeg({.width = 64, .height = 64, .is_progressive = true});
    const std::uint64_t one_scan = 64 * 64;
    const std::uint64_t whole = 25 * one_scan + 100 * kMarkerWork;  // reading markers counts as a row
    expect_decodes(picture, whole);
    expect_too_much_work(test::with_more_scans(picture, 60), whole + 30 * (one_scan + kMarkerWork));
}

TEST(PngBomb, WhatFollowsTheLastRowCounts) {
    expect_decodes(test::flat_png({.leftover_bytes = 1'000'000}), 10'000'000);
    expect_too_much_work(test::flat_png({.leftover_bytes = 100'000'000}), 10'000'000);
}

TEST(PngBomb, ChunksCountAndAreNotKept) {
    for (const char* name : {"tEXt", "zTXt", "iCCP", "juNk"}) {
        const auto bomb = test::with_chunks(test::flat_png({}), name, 10'000);
        expect_decodes(bomb, 1'000'000);
        expect_too_much_work(bomb, 10'000);
    }
}

TEST(GifBomb, CodesThatClearTheTableCount) {
    expect_too_much_work(test::gif_of_clear_codes(16, 16, 1'000'000), 100'000'000);
    expect_too_much_work(test::with_comments(test::flat_gif(16, 16), 10'000), 1'000'000);
    expect_decodes(test::with_comments(test::flat_gif(16, 16), 10'000), 10'000'000);
}

TEST(GifCodes, AreFollowedAsTheirWidthGrows) {
    EXPECT_EQ(count_clear_codes(PictureBytes{}, 2, 10), 0U);
    EXPECT_EQ(count_clear_codes(PictureBytes{0}, 2, 10), 0U);
    EXPECT_EQ(count_clear_codes(PictureBytes{9, 0x24}, 2, 10), 2U) << "a block cut short";
    EXPECT_EQ(count_clear_codes(PictureBytes{3, 0x24, 0x49, 0x92, 0}, 2, 100), 8U);
    EXPECT_EQ(count_clear_codes(PictureBytes{3, 0x24, 0x49, 0x92, 0}, 2, 5), 5U);
    EXPECT_EQ(count_clear_codes(PictureBytes{3, 0x24, 0x49, 0x92, 0}, 9, 5), 0U) << "no such symbols";
    // A real file: the data of its first frame, whose codes grow to 10 bits.
    const auto gif = testing::picture_bytes("anim_tiny.gif");
    EXPECT_EQ(count_clear_codes(std::span(gif).subspan(819), gif[818], 1000), 1U);
}

TEST(BmpBomb, RunsBeyondTheEndOfARowCostNothing) {
    constexpr std::size_t kRuns = 100'000;
    const auto bomb = test::bmp_of_runs(64, 64, kRuns);
    const std::uint64_t codes = (kRuns + 1) * 2 * kPackedByteWork;
    expect_decodes(bomb, codes + 64 * 64 + 64);
    expect_too_much_work(bomb, codes / 2);
    expect_too_much_work(test::bmp_of_moves(64, 64, kRuns), codes / 2);
    const auto image = decode_image(bomb);
    ASSERT_TRUE(image.ok());
    const std::size_t last = std::size_t{63} * 64 * 3;  // the first row in the file
    EXPECT_EQ(image->rgb[last], 0x33);
    EXPECT_EQ(image->rgb[last + 63 * 3], 0x33);
    EXPECT_EQ(image->rgb[last - 3], 0xFF) << "the run does not go on in the next row";
}

TEST(WebpBomb, PixelsAndBytesCount) {
    expect_too_much_work(test::with_riff_chunks(test::flat_webp(16, 16), 100'000), 1'000'000);
    expect_decodes(test::with_riff_chunks(test::flat_webp(16, 16), 100'000), 10'000'000);
}

}  // namespace

}  // namespace clasp::image
