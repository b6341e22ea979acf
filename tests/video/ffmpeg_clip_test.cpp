// Video files through the module that knows FFmpeg: the very frames that are asked for, whatever the
// container; limits; files that are cut, damaged or meant to hurt.
#include "video/ffmpeg_clip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/made_clip.h"
#include "support/paths.h"

namespace clasp::video {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class VideoFile : public ::testing::Test {
   protected:
    void TearDown() override {
        for (const std::string& path : made_) fs::remove(path);
    }
    std::string make(const test::MadeClip& clip) {
        const std::string path = std::string(test::scratch_dir()) + "/clip-" + std::to_string(getpid()) +
                                 "-" + std::to_string(made_.size());
        made_.push_back(path);
        EXPECT_TRUE(test::make_clip(clip, path)) << clip.format << " with " << clip.codec;
        return path;
    }
    static std::string bytes_of_file(const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    }
    static std::unique_ptr<Clip> opened(const std::string& path, const ClipOptions& options = {}) {
        auto clip = open_clip({.path = path}, options);
        EXPECT_TRUE(clip.ok()) << clip.status().message();
        return clip.ok() ? std::move(*clip) : nullptr;
    }
    // The numbers of the frames that came, told by their brightness.
    static std::vector<int> seen(Clip& clip, const std::vector<std::size_t>& frames,
                                 bool is_full_range = false) {
        std::vector<int> numbers;
        const Status status = clip.decode(frames, [&](std::size_t, Image&& image) {
            const std::size_t middle = (image.rgb.size() / 6) * 3;
            // In studio range 16 is black and 235 white.
            const double luma = is_full_range ? image.rgb[middle] : 16.0 + image.rgb[middle] * 219.0 / 255.0;
            int best = 0;
            for (int i = 0; i < static_cast<int>(clip.seconds().size()); ++i) {
                const auto off = [&](int frame) { return std::abs(luma - test::brightness_of(frame)); };
                if (off(i) < off(best)) best = i;
            }
            numbers.push_back(best);
            return ok_status();
        });
        EXPECT_TRUE(status.ok()) << status.message();
        return numbers;
    }
    // What `work` says in a process of its own, which leaves this one's memory as it is.
    template <typename F>
    static int apart(F work) {
        const pid_t child = fork();
        if (child == 0) _exit(work());
        int status = 0;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    std::vector<std::string> made_;
};

TEST_F(VideoFile, EveryContainerGivesTheFramesThatAreAskedFor) {
    const std::vector<test::MadeClip> clips = {
        {.format = "mp4", .codec = "mpeg4"},
        {.format = "mov", .codec = "mjpeg"},
        {.format = "matroska", .codec = "mpeg4", .n_between = 2},
        {.format = "avi", .codec = "mpeg4"},
        {.format = "mp4", .codec = "libx264", .n_between = 2, .with_sound = false},
        {.format = "webm", .codec = "libvpx"},
        {.format = "avi", .codec = "mjpeg", .with_sound = true},
    };
    for (const test::MadeClip& made : clips) {
        const auto clip = opened(make(made));
        ASSERT_NE(clip, nullptr) << made.format << " " << made.codec;
        EXPECT_EQ(clip->size(), (PixelSize{64, 48}));
        EXPECT_EQ(clip->seconds().size(), 30U) << made.format << " " << made.codec;
        EXPECT_NEAR(clip->fps(), 10.0, 0.01);
        EXPECT_NEAR(clip->seconds().back(), 2.9, 0.01);
        const bool is_full = made.codec == "mjpeg";
        EXPECT_EQ(seen(*clip, {0, 1, 13, 13, 25, 29}, is_full), (std::vector<int>{0, 1, 13, 13, 25, 29}))
            << made.format << " " << made.codec;
        EXPECT_EQ(seen(*clip, {7}, is_full), (std::vector<int>{7})) << "earlier ones can be asked for again";
        EXPECT_TRUE(clip->notes().empty()) << clip->notes().front();
    }
}

TEST_F(VideoFile, MemoryAndFileAreTheSame) {
    const std::string path = make({});
    const std::string bytes = bytes_of_file(path);
    auto clip = open_clip({.path = {}, .bytes = bytes}, {});
    ASSERT_TRUE(clip.ok()) << clip.status().message();
    EXPECT_EQ(seen(**clip, {3, 20}), (std::vector<int>{3, 20}));
}

TEST_F(VideoFile, LimitsAreKeptBeforeAnythingIsDecoded) {
    const std::string path = make({});
    const auto refused = [&](auto change) {
        ClipOptions options;
        change(options.limits);
        const auto clip = open_clip({.path = path}, options);
        EXPECT_EQ(clip.status().code(), Code::TooLarge) << clip.status().message();
        return clip.status().message();
    };
    EXPECT_THAT(refused([](ClipLimits& limits) { limits.max_pixels = 3000; }), HasSubstr("64 x 48"));
    EXPECT_THAT(refused([](ClipLimits& limits) { limits.max_side = 63; }), HasSubstr("63 a side"));
    EXPECT_THAT(refused([](ClipLimits& limits) { limits.max_frames = 29; }), HasSubstr("limit of 29 frames"));
    EXPECT_THAT(refused([](ClipLimits& limits) { limits.max_seconds = 2; }), HasSubstr("limit of 2 s"));
    EXPECT_THAT(refused([](ClipLimits& limits) { limits.max_file_bytes = 100; }), HasSubstr("limit of 100"));
    EXPECT_THAT(refused([](ClipLimits& limits) { limits.max_work_seconds = 0; }),
                HasSubstr("longer than the limit"));
}

// A few kilobytes whose frames have 36 million pixels, and whose container says so, or says 64 x 48.
TEST_F(VideoFile, FramesThatAreTooLargeTakeNoMemory) {
    const std::string path = std::string(test::scratch_dir()) + "/huge-" + std::to_string(getpid());
    made_.push_back(path);
    const test::MadeClip huge = {
        .format = "mp4", .codec = "libx264", .width = 6400, .height = 5600, .n_frames = 1};
    if (apart([&] { return test::make_clip(huge, path) ? 0 : 1; }) != 0) GTEST_SKIP() << "no libx264";
    const std::string bytes = bytes_of_file(path);
    std::string lying = bytes;
    const std::string said("\x19\x00\x15\xE0", 4);
    const std::size_t at = lying.find(said, lying.find("avc1", lying.find("stsd")));
    ASSERT_NE(at, std::string::npos);
    lying.replace(at, 4, std::string("\0\x40\0\x30", 4));
    const auto memory_kb = [] {
        rusage usage = {};
        getrusage(RUSAGE_SELF, &usage);
        return usage.ru_maxrss;
    };
    for (const std::string& clip : {bytes, lying}) {
        const int megabytes = apart([&] {
            const auto before = memory_kb();
            const auto opened = open_clip({.path = {}, .bytes = clip}, {});
            if (opened.ok() || opened.status().message().empty()) return 255;
            return static_cast<int>(std::min<long>((memory_kb() - before) / 1000, 254));
        });
        EXPECT_LT(megabytes, 60) << (clip == lying ? "told otherwise" : "told");
    }
    EXPECT_THAT(open_clip({.path = path}, {}).status().message(), HasSubstr("6400 x 5600 pixels exceed"));
}

TEST_F(VideoFile, ManyStreamsAreRefused) {
    const std::string path = make({.format = "avi", .codec = "mjpeg", .with_sound = true});
    ClipOptions options;
    options.limits.max_streams = 1;
    const auto clip = open_clip({.path = path}, options);
    EXPECT_EQ(clip.status().code(), Code::TooLarge);
    EXPECT_THAT(clip.status().message(), HasSubstr("the clip has more than the limit of 1 streams"));
    options.limits.max_streams = 2;
    EXPECT_TRUE(open_clip({.path = path}, options).ok());
}

TEST_F(VideoFile, CanBeStopped) {
    std::atomic<bool> stop = false;
    ClipOptions options;
    options.cancel = &stop;
    const auto clip = opened(make({}), options);
    ASSERT_NE(clip, nullptr);
    stop = true;
    const Status status =
        clip->decode(std::vector<std::size_t>{29}, [](std::size_t, Image&&) { return ok_status(); });
    EXPECT_EQ(status.code(), Code::Cancelled);
    EXPECT_EQ(open_clip({.path = made_.front()}, options).status().code(), Code::Cancelled);
}

TEST_F(VideoFile, WhatTheSinkSaysEndsDecoding) {
    const auto clip = opened(make({}));
    int n = 0;
    const Status status =
        clip->decode(std::vector<std::size_t>{0, 1, 2}, [&](std::size_t, Image&&) -> Status {
            return ++n == 2 ? Status(Code::OutOfMemory, "enough") : ok_status();
        });
    EXPECT_EQ(status.message(), "enough");
    EXPECT_EQ(n, 2);
}

// Cut anywhere, a file is an error with a sentence or a clip with fewer frames; never anything else.
TEST_F(VideoFile, CutFilesAreToldOrShort) {
    for (const char* format : {"mp4", "matroska", "avi"}) {
        const std::string bytes = bytes_of_file(make({.format = format, .codec = "mpeg4"}));
        for (std::size_t share = 1; share < 10; ++share) {
            const std::string cut = bytes.substr(0, bytes.size() * share / 10);
            const auto clip = open_clip({.path = {}, .bytes = cut}, {});
            if (!clip.ok()) {
                EXPECT_FALSE(clip.status().message().empty());
                EXPECT_EQ(clip.status().message().find('\n'), std::string::npos);
                continue;
            }
            const std::size_t n = (*clip)->seconds().size();
            EXPECT_LE(n, 30U);
            EXPECT_EQ(seen(**clip, {0}), (std::vector<int>{0})) << format << " " << share;
        }
    }
}

TEST_F(VideoFile, DamagedFilesDoNoHarm) {
    const std::string bytes = bytes_of_file(make({.format = "matroska", .codec = "mpeg4"}));
    std::uint32_t state = 1;
    for (int round = 0; round < 30; ++round) {
        std::string damaged = bytes;
        for (int i = 0; i < 20; ++i) {
            state = state * 1664525U + 1013904223U;
            damaged[40 + (state >> 8) % (damaged.size() - 40)] = static_cast<char>(state >> 24);
        }
        const auto clip = open_clip({.path = {}, .bytes = damaged}, {});
        if (!clip.ok() || *clip == nullptr) continue;
        const std::vector<std::size_t> all = {0, (*clip)->seconds().size() - 1};
        const Status status = (*clip)->decode(all, [&](std::size_t, Image&& image) {
            EXPECT_EQ((PixelSize{image.width, image.height}), (*clip)->size());
            return ok_status();
        });
        EXPECT_EQ(status.ok(), status.message().empty());
    }
}

TEST_F(VideoFile, NothingIsTakenForAListOfClips) {
    // A list of clips in Matroska's clothes, and an AVI that is text.
    for (const std::string& bytes : {std::string("\x1A\x45\xDF\xA3#EXTM3U\n/etc/passwd\n"),
                                     std::string("RIFF\x10\0\0\0AVI file 'x.avi'", 24)}) {
        const auto clip = open_clip({.path = {}, .bytes = bytes}, {});
        ASSERT_FALSE(clip.ok());
        const Code code = clip.status().code();
        EXPECT_TRUE(code == Code::Corrupt || code == Code::Unsupported) << clip.status().message();
    }
}

TEST_F(VideoFile, OtherCodingsAreNamed) {
    const std::string path = make({.format = "avi", .codec = "ffv1"});
    const auto clip = open_clip({.path = path}, {});
    ASSERT_FALSE(clip.ok());
    EXPECT_THAT(clip.status().message(), HasSubstr("coded as ffv1"));
}

}  // namespace
}  // namespace clasp::video
