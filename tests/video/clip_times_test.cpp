// When the frames of files are shown, at which rate, and what the authors' rules make of them: containers
// round times, animations add up delays, and some clips have no constant rate at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "support/made_clip.h"
#include "support/paths.h"
#include "video/clip.h"
#include "video/sampling.h"

namespace clasp::video {
namespace {

using ::testing::SizeIs;

// Qwen's: two frames a second, from 4 to 768, an even number, first and last included.
constexpr SampleRule kQwenRule = {.places = SampleRule::Places::Ends,
                                  .n_frames = 0,
                                  .fps = 2.0,
                                  .min_frames = 4,
                                  .max_frames = 768,
                                  .multiple = 2};

std::unique_ptr<Clip> clip_of(const std::string& bytes) {
    auto clip = open_clip({.path = {}, .bytes = bytes}, {});
    EXPECT_TRUE(clip.ok()) << clip.status().message();
    return clip.ok() ? std::move(*clip) : nullptr;
}

Sample sample_of(const Clip& clip, const ClipChoice& choice = {}) {
    auto sample = sample_clip(clip.seconds(), clip.fps(), false, kQwenRule, choice);
    EXPECT_TRUE(sample.ok()) << sample.status().message();
    return sample.ok() ? *sample : Sample();
}

// round(linspace(0, total - 1, n)), halves to even, as the authors count.
std::vector<std::size_t> evenly(std::size_t total, std::size_t n) {
    std::vector<std::size_t> frames;
    for (std::size_t i = 0; i < n; ++i) {
        const double at =
            static_cast<double>(total - 1) * static_cast<double>(i) / static_cast<double>(n - 1);
        frames.push_back(static_cast<std::size_t>(std::nearbyint(at)));
    }
    return frames;
}

std::string made_bytes(const test::MadeClip& made) {
    const std::string path = std::string(test::scratch_dir()) + "/times-" + std::to_string(getpid());
    EXPECT_TRUE(test::make_clip(made, path)) << made.format << " with " << made.codec;
    std::ifstream file(path, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    std::filesystem::remove(path);
    return bytes;
}

struct Timed {
    const char* format;
    int fps;
    int seconds;
    std::size_t n_sampled;
};

TEST(ClipTimes, FilesOfUsualRatesGiveTheAuthorsCounts) {
    for (const Timed& one :
         {Timed{"mp4", 24, 9, 18}, Timed{"mp4", 30, 17, 34}, Timed{"mp4", 60, 10, 20},
          Timed{"mp4", 25, 10, 20}, Timed{"matroska", 24, 5, 10}, Timed{"matroska", 30, 7, 14},
          Timed{"matroska", 60, 5, 10}, Timed{"avi", 24, 10, 20}, Timed{"avi", 30, 10, 20},
          Timed{"avi", 60, 3, 6}, Timed{"mov", 50, 3, 6}}) {
        SCOPED_TRACE(std::string(one.format) + " of " + std::to_string(one.seconds) + " s at " +
                     std::to_string(one.fps));
        const auto clip = clip_of(made_bytes(
            {.format = one.format, .fps = one.fps, .n_frames = one.fps * one.seconds, .n_between = 1}));
        ASSERT_NE(clip, nullptr);
        const auto total = static_cast<std::size_t>(one.fps) * static_cast<std::size_t>(one.seconds);
        ASSERT_THAT(clip->seconds(), SizeIs(total));
        EXPECT_DOUBLE_EQ(clip->fps(), one.fps);
        const Sample sample = sample_of(*clip);
        EXPECT_EQ(sample.frames, evenly(total, one.n_sampled));
        EXPECT_DOUBLE_EQ(sample.fps, 2.0);
        for (std::size_t i = 0; i < sample.frames.size(); ++i) {
            EXPECT_NEAR(sample.seconds[i], static_cast<double>(sample.frames[i]) / one.fps, 0.00051);
        }
        EXPECT_THAT(sample_of(*clip, {.fps = 1.0}).frames, SizeIs(std::max(4, one.seconds / 2 * 2)));
    }
}

TEST(ClipTimes, WebmIsRoundedToMilliseconds) {
    const test::MadeClip made = {.format = "webm", .codec = "libvpx", .fps = 24, .n_frames = 120};
    const auto clip = clip_of(made_bytes(made));
    ASSERT_NE(clip, nullptr);
    EXPECT_EQ(sample_of(*clip).frames, evenly(120, 10));
    EXPECT_THAT(sample_of(*clip, {.fps = 1.0}).frames, SizeIs(4)) << "five, floored to even";
}

// A GIF of grey frames of 8 x 8 pixels, each shown for so many hundredths of a second.
std::string gif_of(std::size_t n_frames, unsigned hundredths) {
    const auto word = [](unsigned value) {
        return std::string{static_cast<char>(value & 0xFFU), static_cast<char>(value >> 8U)};
    };
    // Codes of 3 bits; cleared after every two pixels so that they stay so.
    std::string codes;
    unsigned held = 0;
    unsigned n_held = 0;
    const auto put = [&](unsigned code) {
        held |= code << n_held;
        for (n_held += 3; n_held >= 8; n_held -= 8, held >>= 8U) codes += static_cast<char>(held & 0xFFU);
    };
    for (int pair = 0; pair < 32; ++pair) {
        for (const unsigned code : {4U, 1U, 1U}) put(code);
    }
    put(5);
    if (n_held > 0) codes += static_cast<char>(held);
    std::string gif = "GIF89a" + word(8) + word(8) + std::string("\x81\0\0", 3);
    gif += std::string("\0\0\0\x55\x55\x55\xAA\xAA\xAA\xFF\xFF\xFF", 12);
    for (std::size_t i = 0; i < n_frames; ++i) {
        gif += "\x21\xF9\x04" + std::string(1, '\x04') + word(hundredths) + std::string("\0\0", 2);
        gif += "," + word(0) + word(0) + word(8) + word(8) + std::string("\0\2", 2);
        gif += static_cast<char>(codes.size()) + codes + std::string(1, '\0');
    }
    return gif + ";";
}

TEST(ClipTimes, DelaysOfAnimationsAddUpExactly) {
    const auto tenths = clip_of(gif_of(100, 10));
    ASSERT_NE(tenths, nullptr);
    EXPECT_EQ(tenths->fps(), 10.0);
    EXPECT_EQ(tenths->seconds()[3], 0.3);
    EXPECT_EQ(tenths->seconds()[99], 9.9);
    EXPECT_EQ(sample_of(*tenths).frames, evenly(100, 20));
    EXPECT_EQ(sample_of(*tenths).fps, 2.0);
    EXPECT_THAT(sample_of(*tenths, {.fps = 1.0}).frames, SizeIs(10));
    EXPECT_EQ(sample_of(*clip_of(gif_of(50, 10))).frames, evenly(50, 10));
    const auto faster = clip_of(gif_of(250, 4));
    ASSERT_NE(faster, nullptr);
    EXPECT_EQ(faster->fps(), 25.0);
    EXPECT_EQ(sample_of(*faster).frames, evenly(250, 20));
    EXPECT_THAT(sample_of(*faster).frames, testing::Contains(13U));
    // What is shown at the end that somebody writes belongs to it.
    EXPECT_EQ(sample_of(*tenths, {.start_s = 0.3, .end_s = 0.7}).seconds,
              (std::vector<double>{0.3, 0.4, 0.6, 0.7}));
}

// Fractions of a second, as animated PNG pictures have them: 20 frames of 1/30 s.
TEST(ClipTimes, FractionsOfASecondAddUpToo) {
    std::ifstream file(std::string(test::source_dir()) + "/tests/data/images/anim_ball.apng.png",
                       std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    for (std::size_t at = bytes.find("fcTL"); at != std::string::npos; at = bytes.find("fcTL", at + 4)) {
        bytes.replace(at + 24, 4, std::string("\0\1\0\x1E", 4));
    }
    const auto clip = clip_of(bytes);
    ASSERT_NE(clip, nullptr);
    EXPECT_EQ(clip->seconds()[15], 0.5);
    EXPECT_NEAR(clip->fps(), 30.0, 1e-4);
    EXPECT_THAT(sample_of(*clip, {.fps = 9.0}).frames, SizeIs(6));
    EXPECT_THAT(sample_of(*clip, {.fps = 12.0}).frames, SizeIs(8)) << "2/3 s at 12 a second";
}

// Five seconds at 10 frames a second and five at 2: the count follows the length, the places the frames.
TEST(ClipTimes, ClipsOfVariableRateAreSampledByTheirLength) {
    test::MadeClip made = {.fps = 100, .n_frames = 60};
    for (int i = 0; i < 50; ++i) made.ticks.push_back(10 * i);
    for (int i = 0; i <= 10; ++i) made.ticks.push_back(500 + 50 * i);
    const auto clip = clip_of(made_bytes(made));
    ASSERT_NE(clip, nullptr);
    EXPECT_DOUBLE_EQ(clip->fps(), 6.0) << "60 frames in 10 s, the last of them shown for 0.5";
    EXPECT_EQ(clip->seconds()[3], 0.3);
    EXPECT_EQ(clip->seconds()[59], 9.5);
    EXPECT_EQ(sample_of(*clip).frames, evenly(60, 20));
    EXPECT_EQ(sample_of(*clip).seconds.back(), 9.5);
    // Matroska says 100 frames a second and nothing about the last one.
    made.format = "matroska";
    const auto other = clip_of(made_bytes(made));
    ASSERT_NE(other, nullptr);
    EXPECT_NEAR(other->fps(), 6.3, 0.05);
    EXPECT_EQ(sample_of(*other).frames, evenly(60, 18));
}

}  // namespace
}  // namespace clasp::video
