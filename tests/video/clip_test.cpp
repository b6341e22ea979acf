// Clips that need no FFmpeg: animated pictures, folders and lists of frames; what is a clip and what is not.
#include "video/clip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/bmp.h"
#include "support/paths.h"

namespace clasp::video {
namespace {

namespace fs = std::filesystem;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string data(const std::string& name) {
    return std::string(test::source_dir()) + "/tests/data/images/" + name;
}

std::string bytes_of_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

ClipFormat sniffed(const std::string& bytes) {
    return sniff_video({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

std::vector<Image> decoded(Clip& clip, const std::vector<std::size_t>& frames) {
    std::vector<Image> images;
    const Status status = clip.decode(frames, [&](std::size_t number, Image&& image) {
        EXPECT_EQ(number, images.size());
        images.push_back(std::move(image));
        return ok_status();
    });
    EXPECT_TRUE(status.ok()) << status.message();
    return images;
}

class ClipFolder : public ::testing::Test {
   protected:
    void SetUp() override {
        folder_ = std::string(test::scratch_dir()) + "/frames-" + std::to_string(getpid());
        fs::create_directories(folder_);
    }
    void TearDown() override { fs::remove_all(folder_); }
    std::string write(const std::string& name, const std::string& bytes) const {
        std::ofstream(folder_ + "/" + name, std::ios::binary) << bytes;
        return folder_ + "/" + name;
    }
    // All pixels of one grey.
    static std::string frame(unsigned grey, std::uint32_t side = 8) {
        return test::make_bmp(side, side, [grey](std::uint32_t) { return grey; });
    }
    std::string folder_;
};

TEST(ClipSniff, TellsContainersByTheirFirstBytes) {
    EXPECT_EQ(sniffed(std::string("\0\0\0\x20") + "ftypisom"), ClipFormat::None)
        << "the string ends at its zero";
    EXPECT_EQ(sniffed(std::string("\0\0\0\x20", 4) + "ftypisom"), ClipFormat::Mp4);
    EXPECT_EQ(sniffed(std::string("\0\0\0\x20", 4) + "ftypqt  "), ClipFormat::Mp4);
    EXPECT_EQ(sniffed(std::string("\0\0\0\x20", 4) + "ftypavif"), ClipFormat::None) << "a picture";
    EXPECT_EQ(sniffed(std::string("\0\0\0\x08", 4) + "wide"), ClipFormat::Mp4);
    EXPECT_EQ(sniffed("\x1A\x45\xDF\xA3 and more"), ClipFormat::Matroska);
    EXPECT_EQ(sniffed("RIFF....AVI LIST"), ClipFormat::Avi);
    EXPECT_EQ(sniffed("RIFF....WEBPVP8X"), ClipFormat::None);
    EXPECT_EQ(sniffed("#EXTM3U\nhttp://example.org/"), ClipFormat::None)
        << "lists that name other files are no clips";
    EXPECT_EQ(sniffed(""), ClipFormat::None);
}

TEST(AnimationClip, HasTheFramesAndTimesOfItsFile) {
    const auto clip = open_clip({.path = data("anim_dispose_background.gif")}, {});
    ASSERT_TRUE(clip.ok()) << clip.status().message();
    ASSERT_NE(*clip, nullptr);
    EXPECT_EQ((*clip)->format(), ClipFormat::Animation);
    EXPECT_EQ((*clip)->size(), (PixelSize{100, 100}));
    EXPECT_THAT((*clip)->seconds(), ElementsAre(0.0, 1.0, 2.0, 3.0, 4.0));
    EXPECT_DOUBLE_EQ((*clip)->fps(), 1.0);
    EXPECT_TRUE((*clip)->notes().empty());
    const std::vector<Image> images = decoded(**clip, {0, 0, 3});
    ASSERT_THAT(images, SizeIs(3));
    EXPECT_EQ(images[0].rgb, images[1].rgb);
    EXPECT_NE(images[0].rgb, images[2].rgb);
}

TEST(AnimationClip, IsTheSameFromMemory) {
    const std::string bytes = bytes_of_file(data("anim_tiny.gif"));
    const auto file = open_clip({.path = data("anim_tiny.gif")}, {});
    const auto memory = open_clip({.path = {}, .bytes = bytes}, {});
    ASSERT_TRUE(file.ok() && memory.ok());
    EXPECT_THAT((*memory)->seconds(), SizeIs(24));
    EXPECT_EQ((*memory)->identity(), (*file)->identity());
    EXPECT_EQ(decoded(**memory, {5, 23})[1].rgb, decoded(**file, {5, 23})[1].rgb);
}

TEST(AnimationClip, StillPicturesAreNoClips) {
    for (const char* name : {"flower.webp", "logo_rgba.png", "hopper.jpg", "gif_out_of_bounds.gif"}) {
        const auto clip = open_clip({.path = data(name)}, {});
        ASSERT_TRUE(clip.ok()) << name << ": " << clip.status().message();
        EXPECT_EQ(*clip, nullptr) << name;
    }
}

TEST(AnimationClip, WhatIsCutOffIsSaid) {
    const std::string bytes = bytes_of_file(data("anim_tiny.gif"));
    const std::string cut = bytes.substr(0, bytes.size() / 2);
    const auto clip = open_clip({.path = {}, .bytes = cut}, {});
    ASSERT_TRUE(clip.ok()) << clip.status().message();
    ASSERT_NE(*clip, nullptr);
    const std::size_t n = (*clip)->seconds().size();
    EXPECT_GT(n, 5U);
    EXPECT_LT(n, 20U);
    EXPECT_THAT((*clip)->notes(), ElementsAre(HasSubstr("only its first " + std::to_string(n) + " frames")));
    EXPECT_THAT(decoded(**clip, {n - 1}), SizeIs(1)) << "those are whole";
}

TEST(AnimationClip, CanBeStopped) {
    const std::atomic<bool> stop = true;
    const auto clip = open_clip({.path = data("anim_ball.apng.png")}, {.limits = {}, .cancel = &stop});
    if (!clip.ok()) {
        EXPECT_EQ(clip.status().code(), Code::Cancelled);
        return;
    }
    const Status status =
        (*clip)->decode(std::vector<std::size_t>{19}, [](std::size_t, Image&&) { return ok_status(); });
    EXPECT_EQ(status.code(), Code::Cancelled);
}

TEST_F(ClipFolder, FramesComeInTheOrderOfTheirNumbers) {
    for (const unsigned i : {0U, 1U, 2U, 9U, 10U, 11U})
        write("frame" + std::to_string(i) + ".bmp", frame(20 * i));
    write("notes.txt", "not a frame");
    const auto clip = open_clip({.path = folder_}, {});
    ASSERT_TRUE(clip.ok()) << clip.status().message();
    EXPECT_EQ((*clip)->format(), ClipFormat::Frames);
    EXPECT_THAT((*clip)->seconds(), ElementsAre(0.0, 0.5, 1.0, 1.5, 2.0, 2.5));
    EXPECT_THAT((*clip)->notes(), ElementsAre(HasSubstr("1 other files")));
    std::vector<int> greys;
    for (const Image& image : decoded(**clip, {0, 1, 2, 3, 4, 5})) greys.push_back(image.rgb[0]);
    EXPECT_THAT(greys, ElementsAre(0, 20, 40, 180, 200, 220));
}

TEST_F(ClipFolder, ListsKeepTheirOrder) {
    const std::vector<std::string> paths = {write("b.bmp", frame(7)), write("a.bmp", frame(9))};
    const auto clip = open_clip({.path = {}, .bytes = {}, .frames = paths}, {});
    ASSERT_TRUE(clip.ok()) << clip.status().message();
    EXPECT_EQ(decoded(**clip, {0, 1})[1].rgb[0], 9);
}

TEST_F(ClipFolder, SaysWhatIsWrong) {
    EXPECT_THAT(open_clip({.path = folder_}, {}).status().message(), HasSubstr("has no pictures"));
    write("1.bmp", frame(1));
    write("2.bmp", frame(1, 12));
    EXPECT_THAT(open_clip({.path = folder_}, {}).status().message(),
                HasSubstr("has 12 x 12 pixels and the first frame 8 x 8"));
    ClipOptions few;
    few.limits.max_pictures = 1;
    EXPECT_EQ(open_clip({.path = folder_}, few).status().code(), Code::TooLarge);
    write("2.bmp", "BM, but nothing else");
    EXPECT_THAT(open_clip({.path = folder_}, {}).status().message(), HasSubstr("2.bmp"));
    EXPECT_EQ(open_clip({.path = folder_ + "/none.mp4"}, {}).status().code(), Code::NotFound);
}

}  // namespace
}  // namespace clasp::video
