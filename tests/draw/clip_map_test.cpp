// Maps over time: contact sheets, and animations that come back pixel for pixel.
#include "draw/clip_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "draw/webp_writer.h"
#include "image/animation.h"

namespace clasp::draw {
namespace {

using ::testing::HasSubstr;

Image plain(int width, int height, std::uint8_t red, std::uint8_t blue) {
    Image image;
    image.width = width;
    image.height = height;
    for (int i = 0; i < width * height; ++i) {
        image.rgb.insert(image.rgb.end(), {red, static_cast<std::uint8_t>(i % 251), blue});
    }
    return image;
}

std::span<const std::uint8_t> bytes_of(const std::string& text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

TEST(WebpWriter, AnimationsComeBackPixelForPixel) {
    const std::vector<Image> frames = {plain(33, 21, 10, 200), plain(33, 21, 90, 100), plain(33, 21, 250, 3)};
    const auto file = encode_webp_animation(frames, 250, true);
    ASSERT_TRUE(file.ok()) << file.status().message();
    const auto animation = image::read_animation(bytes_of(*file), {});
    ASSERT_TRUE(animation.ok()) << animation.status().message();
    EXPECT_EQ(animation->size, (PixelSize{33, 21}));
    EXPECT_EQ(animation->seconds, (std::vector<double>{0.25, 0.25, 0.25}));
    EXPECT_FALSE(animation->is_cut);
    EXPECT_TRUE(image::is_animated(bytes_of(*file)));
    std::size_t n = 0;
    const Status status =
        image::decode_animation(bytes_of(*file), {}, 3, [&](std::size_t i, const Image& image) {
            EXPECT_EQ(image.rgb, frames[i].rgb) << i;
            ++n;
            return true;
        });
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(n, 3U);
    const auto still = decode_image(bytes_of(*file));
    ASSERT_TRUE(still.ok());
    EXPECT_EQ(still->rgb, frames[0].rgb) << "a picture is its first frame";
}

TEST(WebpWriter, CutAnimationsAreNotDecoded) {
    const std::vector<Image> frames = {plain(16, 16, 1, 2), plain(16, 16, 3, 4), plain(16, 16, 5, 6)};
    const std::string whole = *encode_webp_animation(frames, 100, true);
    for (std::size_t n = 0; n < whole.size(); n += 7) {
        const std::string cut = whole.substr(0, n);
        const auto animation = image::read_animation(bytes_of(cut), {});
        if (!animation.ok()) continue;
        EXPECT_TRUE(animation->is_cut) << n;
        EXPECT_LE(animation->seconds.size(), 3U);
    }
}

TEST(WebpWriter, SaysWhatCannotBe) {
    EXPECT_FALSE(encode_webp_animation({}, 100).ok());
    const std::vector<Image> two = {plain(4, 4, 0, 0), plain(4, 5, 0, 0)};
    EXPECT_THAT(encode_webp_animation(two, 100).status().message(), HasSubstr("one size"));
}

ClipMap clip_map_of(const Image& picture, std::size_t n_steps) {
    ClipMap map;
    map.rows = 2;
    map.columns = 3;
    for (std::size_t i = 0; i < n_steps; ++i) {
        ClipStep step = {&picture, {}, std::vector<Mark>(6, Mark::Dropped), std::to_string(i) + " s"};
        step.marks[i % 6] = Mark::Pivot;
        map.steps.push_back(step);
    }
    map.curves = {{"before layer 2", std::vector<std::size_t>(n_steps, 1)}};
    map.question = "What happens?";
    map.answer = "Much.";
    return map;
}

TEST(ClipMap, DimsWhatWasDroppedAndKeepsTheRest) {
    const Image picture = plain(60, 40, 255, 255);
    const auto canvas = draw_clip_map(clip_map_of(picture, 3));
    ASSERT_TRUE(canvas.ok()) << canvas.status().message();
    const auto steps = draw_clip_steps(clip_map_of(picture, 3));
    ASSERT_TRUE(steps.ok());
    ASSERT_EQ(steps->size(), 3U);
    EXPECT_EQ((*steps)[0].width, (*steps)[2].width);
    // Brightness at the middles of cell 0 and 1 of the first step.
    const auto bright = [&](std::size_t step, int column) {
        const Image& image = (*steps)[step];
        const int x = (2 * column + 1) * image.width / 6;
        return static_cast<int>(image.rgb[static_cast<std::size_t>(3 * (60 * image.width + x))]);
    };
    EXPECT_GT(bright(0, 0), bright(0, 1) + 60);
    EXPECT_GT(bright(1, 1), bright(1, 0) + 60);
}

TEST(ClipMap, ThinsOutLongClips) {
    const Image picture = plain(60, 40, 255, 255);
    const auto some = draw_clip_map(clip_map_of(picture, kMaxSheetSteps));
    const auto many = draw_clip_map(clip_map_of(picture, 10 * kMaxSheetSteps));
    ASSERT_TRUE(some.ok() && many.ok());
    EXPECT_LT(many->height(), some->height() + 60) << "a line more at most";
}

TEST(ClipMap, SaysWhatDoesNotFit) {
    const Image picture = plain(60, 40, 255, 255);
    ClipMap map = clip_map_of(picture, 2);
    map.steps[1].marks.pop_back();
    EXPECT_THAT(draw_clip_map(map).status().message(), HasSubstr("marks 5 tokens, but the grid has 6"));
    map = clip_map_of(picture, 2);
    map.curves[0].kept.pop_back();
    EXPECT_THAT(draw_clip_map(map).status().message(), HasSubstr("1 points for 2 steps"));
    map.steps.clear();
    EXPECT_FALSE(draw_clip_steps(map).ok());
}

}  // namespace
}  // namespace clasp::draw
