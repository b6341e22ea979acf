// The scenes that the program writes, read back by the program's own decoders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "image/animation.h"
#include "run_program.h"
#include "support/json.h"
#include "support/paths.h"
#include "world/compose_clip.h"
#include "world/painter.h"

namespace clasp::cli {
namespace {

std::vector<std::uint8_t> bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ScenesCommand, ClipsAreDecodedAsTheyWereDrawn) {
    const std::string folder = std::string(test::scratch_dir()) + "/clips";
    const Outcome outcome =
        run({"scenes", "--video", "--split", "calibrate", "--count", "5", "--seed", "4", "--out", folder});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, testing::HasSubstr("wrote 5 clips with 5 questions"));
    for (std::uint64_t i = 0; i < 5; ++i) {
        const auto bytes = bytes_of(folder + "/clips/00000" + std::to_string(i) + ".png");
        const auto animation = image::read_animation(bytes, {});
        ASSERT_TRUE(animation.ok()) << animation.status().message();
        EXPECT_EQ(animation->seconds, std::vector<double>(8, 0.25));
        const auto drawn = world::paint_clip(world::compose_clip(world::Split::Calibrate, 4, i));
        std::size_t frames = 0;
        const Status status =
            image::decode_animation(bytes, {}, drawn.size(), [&](std::size_t frame, const Image& image) {
                EXPECT_EQ(frame, frames);
                EXPECT_EQ(image.width, 112U);
                EXPECT_TRUE(std::ranges::equal(image.rgb, drawn[frame].rgb())) << i << " frame " << frame;
                ++frames;
                return true;
            });
        EXPECT_TRUE(status.ok()) << status.message();
        EXPECT_EQ(frames, drawn.size());
    }
    std::ifstream lines(folder + "/questions.jsonl");
    std::string line;
    ASSERT_TRUE(std::getline(lines, line));
    const base::Json question = test::parsed(line);
    EXPECT_EQ(question["image"], "clips/000000.png");
    EXPECT_EQ(question["class"], "Action / interaction");
}

}  // namespace
}  // namespace clasp::cli
