// All frames of animated pictures: how many, how long, and what each shows over those before it.
#include "image/animation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "test_images.h"

namespace clasp::image {
namespace {

using ::testing::HasSubstr;
using testing::picture_bytes;

std::vector<Image> all_frames(const std::vector<std::uint8_t>& bytes, std::size_t n) {
    std::vector<Image> frames;
    const Status status = decode_animation(bytes, {}, n, [&](std::size_t i, const Image& image) {
        EXPECT_EQ(i, frames.size());
        frames.push_back(image);
        return true;
    });
    EXPECT_TRUE(status.ok()) << status.message();
    return frames;
}

Animation read(const std::vector<std::uint8_t>& bytes) {
    const auto animation = read_animation(bytes, {});
    EXPECT_TRUE(animation.ok()) << animation.status().message();
    return animation.ok() ? *animation : Animation();
}

TEST(Animation, FramesAndDelaysAreThoseOfTheFiles) {
    struct Case {
        const char* name;
        PixelSize size;
        std::size_t n_frames;
        double seconds;
    };
    for (const Case& c :
         {Case{"anim_combine.gif", {1000, 1000}, 2, 0.2},
          Case{"anim_dispose_background.gif", {100, 100}, 5, 5.0}, Case{"anim_tiny.gif", {14, 25}, 24, 1.68},
          Case{"anim_ball.apng.png", {100, 100}, 20, 1.5}}) {
        const auto bytes = picture_bytes(c.name);
        EXPECT_TRUE(is_animated(bytes)) << c.name;
        const Animation animation = read(bytes);
        EXPECT_EQ(animation.size, c.size) << c.name;
        EXPECT_EQ(animation.seconds.size(), c.n_frames) << c.name;
        double sum = 0.0;
        for (const double seconds : animation.seconds) sum += seconds;
        EXPECT_NEAR(sum, c.seconds, 1e-6) << c.name;
        EXPECT_FALSE(animation.is_cut);
        EXPECT_EQ(all_frames(bytes, c.n_frames).size(), c.n_frames);
    }
}

TEST(Animation, TheFirstFrameIsThePicture) {
    for (const char* name :
         {"anim_combine.gif", "anim_dispose_background.gif", "anim_tiny.gif", "anim_ball.apng.png"}) {
        const auto bytes = picture_bytes(name);
        const auto picture = decode_image(bytes);
        ASSERT_TRUE(picture.ok());
        EXPECT_EQ(all_frames(bytes, 1)[0].rgb, picture->rgb) << name;
    }
}

TEST(Animation, StillPicturesDoNotMove) {
    for (const char* name : {"flower.webp", "logo_rgba.png", "hopper.jpg", "gif_out_of_bounds.gif"}) {
        EXPECT_FALSE(is_animated(picture_bytes(name))) << name;
    }
    EXPECT_FALSE(is_animated({}));
}

TEST(Animation, DecodingEndsWhenNobodyWantsMore) {
    int n = 0;
    const auto bytes = picture_bytes("anim_tiny.gif");
    EXPECT_TRUE(decode_animation(bytes, {}, 24, [&](std::size_t, const Image&) { return ++n < 3; }).ok());
    EXPECT_EQ(n, 3);
}

TEST(Animation, LimitsHoldForTheCanvasAndForAllWork) {
    const auto bytes = picture_bytes("anim_combine.gif");
    ImageOptions options;
    options.limits.max_pixels = 999'999;
    EXPECT_EQ(read_animation(bytes, options).status().code(), Code::TooLarge);
    EXPECT_EQ(read_animation(picture_bytes("gif_huge_canvas.gif"), {}).status().code(), Code::TooLarge);
    ImageOptions idle;
    idle.limits.max_work = 1000;
    const auto take = [](std::size_t, const Image&) { return true; };
    EXPECT_EQ(decode_animation(bytes, idle, 2, take).code(), Code::TooLarge);
}

void put_frame_u32(std::string& out, std::uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
}

void put_frame_chunk(std::string& out, const std::string& name, const std::string& data) {
    put_frame_u32(out, static_cast<std::uint32_t>(data.size()));
    const std::string body = name + data;
    out += body;
    put_frame_u32(out, static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(body.data()),
                                                        static_cast<uInt>(body.size()))));
}

struct Square {
    std::uint32_t side;
    std::uint32_t at;  // left and top
    std::array<std::uint8_t, 4> rgba;
    char disposal;  // 0 leave, 1 clear, 2 what was there before
    char blend;     // 0 replace, 1 over
};

std::string packed_square(const Square& square) {
    std::string rows;
    for (std::uint32_t y = 0; y < square.side; ++y) {
        rows.push_back(0);
        for (std::uint32_t x = 0; x < square.side; ++x) rows.append(square.rgba.begin(), square.rgba.end());
    }
    std::string out(compressBound(rows.size()), '\0');
    uLongf n = out.size();
    compress(reinterpret_cast<Bytef*>(out.data()), &n, reinterpret_cast<const Bytef*>(rows.data()),
             rows.size());
    out.resize(n);
    return out;
}

// A canvas of 4 x 4 pixels.
std::vector<std::uint8_t> moving_png(const std::vector<Square>& squares) {
    std::string out = "\x89PNG\r\n\x1A\n";
    std::string header;
    put_frame_u32(header, 4);
    put_frame_u32(header, 4);
    header += std::string("\x08\x06\0\0\0", 5);
    put_frame_chunk(out, "IHDR", header);
    std::string count;
    put_frame_u32(count, static_cast<std::uint32_t>(squares.size()));
    put_frame_u32(count, 0);
    put_frame_chunk(out, "acTL", count);
    std::uint32_t number = 0;
    for (const Square& square : squares) {
        std::string control;
        for (const std::uint32_t field : {number, square.side, square.side, square.at, square.at})
            put_frame_u32(control, field);
        ++number;
        control += std::string("\0\x01\0\x04", 4);  // a quarter of a second
        control += square.disposal;
        control += square.blend;
        put_frame_chunk(out, "fcTL", control);
        if (&square == &squares.front()) {
            put_frame_chunk(out, "IDAT", packed_square(square));
        } else {
            std::string data;
            put_frame_u32(data, number++);
            put_frame_chunk(out, "fdAT", data + packed_square(square));
        }
    }
    put_frame_chunk(out, "IEND", "");
    return {out.begin(), out.end()};
}

std::array<int, 3> shown_pixel(const Image& image, int x, int y) {
    const auto at = static_cast<std::size_t>(3 * (y * image.width + x));
    return {image.rgb[at], image.rgb[at + 1], image.rgb[at + 2]};
}

using Rgb = std::array<int, 3>;

TEST(PngAnimation, FramesAreLaidOverEachOther) {
    const auto bytes = moving_png({{4, 0, {200, 0, 0, 255}, 0, 0},
                                   {2, 1, {0, 0, 100, 128}, 2, 1},  // half over, then away
                                   {2, 1, {0, 100, 0, 255}, 1, 0},  // then cleared
                                   {1, 0, {10, 20, 30, 255}, 0, 1}});
    EXPECT_NEAR(read(bytes).seconds[1], 0.25, 1e-9);
    const std::vector<Image> frames = all_frames(bytes, 4);
    ASSERT_EQ(frames.size(), 4U);
    EXPECT_EQ(shown_pixel(frames[0], 1, 1), (Rgb{200, 0, 0}));
    EXPECT_EQ(shown_pixel(frames[1], 1, 1), (Rgb{100, 0, 50}));
    EXPECT_EQ(shown_pixel(frames[1], 0, 0), (Rgb{200, 0, 0}));
    EXPECT_EQ(shown_pixel(frames[2], 1, 1), (Rgb{0, 100, 0}));
    EXPECT_EQ(shown_pixel(frames[2], 3, 3), (Rgb{200, 0, 0})) << "the frame before left nothing";
    EXPECT_EQ(shown_pixel(frames[3], 1, 1), (Rgb{0, 0, 0})) << "cleared";
    EXPECT_EQ(shown_pixel(frames[3], 0, 0), (Rgb{10, 20, 30}));
}

TEST(PngAnimation, FramesOutsideTheCanvasAreRefused) {
    const auto bytes = moving_png({{4, 0, {1, 2, 3, 255}, 0, 0}, {2, 3, {1, 2, 3, 255}, 0, 0}});
    EXPECT_THAT(read_animation(bytes, {}).status().message(), HasSubstr("outside the canvas"));
}

// Cut anywhere: fewer whole frames, or no animation; never a crash.
TEST(Animation, CutFilesHaveTheirWholeFrames) {
    for (const char* name : {"anim_tiny.gif", "anim_ball.apng.png"}) {
        const auto bytes = picture_bytes(name);
        const std::size_t n_all = read(bytes).seconds.size();
        for (std::size_t part = 1; part < 20; ++part) {
            const std::vector<std::uint8_t> cut(
                bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() * part / 20));
            const auto animation = read_animation(cut, {});
            if (!animation.ok()) continue;
            EXPECT_TRUE(animation->is_cut);
            EXPECT_LT(animation->seconds.size(), n_all);
            const Status status = decode_animation(cut, {}, animation->seconds.size(),
                                                   [](std::size_t, const Image&) { return true; });
            EXPECT_TRUE(status.ok()) << name << ": " << status.message();
        }
    }
}

}  // namespace
}  // namespace clasp::image
