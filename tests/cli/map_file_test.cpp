// Maps of answers that were made by hand.
#include "cli/map_file.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "clasp/engine.h"

namespace clasp::cli {
namespace {

constexpr int kSide = 32;

std::shared_ptr<const Image> plain_picture() {
    auto picture = std::make_shared<Image>();
    picture->width = picture->height = kSide;
    picture->rgb.assign(static_cast<std::size_t>(kSide) * kSide * 3, 120);
    return picture;
}

// Two equal pictures of four tokens each, of which these stayed.
Answer answer_about_two(std::vector<TokenIndex> kept) {
    Answer answer;
    ImageLayout layout;
    layout.picture = layout.resized = {kSide, kSide};
    layout.grid = {2, 2};
    layout.regions = {{.grid = {2, 2}, .area = {0, 0, kSide, kSide}, .view = 0}};
    answer.layouts = {layout, layout};
    answer.pictures = {plain_picture(), plain_picture()};
    answer.tokens.visual = 8;
    StageReport stage;
    stage.site = "decoder";
    stage.kept = std::move(kept);
    answer.stages = {stage};
    return answer;
}

TEST(MapFile, EachPictureHasTheMarksOfItsOwnTokens) {
    const auto one = token_map("", answer_about_two({1, 4 + 2}), "model");
    const auto other = token_map("", answer_about_two({2, 4 + 1}), "model");
    ASSERT_TRUE(one.ok()) << one.status().message();
    ASSERT_TRUE(other.ok()) << other.status().message();
    const Image a = one->image();
    const Image b = other->image();
    // A picture's map, below which the second stands with a note more: rows down to where they differ by
    // words.
    const auto row = [](const Image& image, int y) {
        const std::size_t bytes = static_cast<std::size_t>(image.width) * 3;
        const auto begin =
            image.rgb.begin() + static_cast<std::ptrdiff_t>(bytes * static_cast<std::size_t>(y));
        return std::vector<std::uint8_t>(begin, begin + static_cast<std::ptrdiff_t>(bytes));
    };
    const auto alone = token_map(
        "",
        [] {
            Answer answer = answer_about_two({1});
            answer.layouts.pop_back();
            answer.pictures.pop_back();
            answer.tokens.visual = 4;
            return answer;
        }(),
        "model");
    ASSERT_TRUE(alone.ok());
    const int second = a.height - alone->height();  // where the second picture's map begins
    ASSERT_GT(second, kSide);
    int n_different = 0;
    constexpr int kFoot = 40;  // of a map, where the last one has its note
    for (int y = 0; y < second - kFoot; ++y) {
        ASSERT_EQ(row(a, second + y), row(b, y)) << y;
        ASSERT_EQ(row(b, second + y), row(a, y)) << y;
        if (row(a, y) != row(b, y)) ++n_different;
    }
    EXPECT_GT(n_different, 10);
}

TEST(MapFile, NeedsAPlaceForEveryPicture) {
    Answer answer = answer_about_two({1});
    answer.layouts[1].is_placed = false;
    EXPECT_FALSE(token_map("", answer, "model").ok());
    answer = answer_about_two({1});
    answer.pictures[1] = nullptr;
    EXPECT_FALSE(token_map("", answer, "model").ok());
}

// A layer that ran on all tokens before some were dropped is no stage that enters the decoder.
TEST(MapFile, TitlesTellBeforeFromAfter) {
    StageReport stage;
    stage.site = "before";
    EXPECT_EQ(stage_panel(stage, 4).title, "entering");
    stage.site = "decoder";
    EXPECT_EQ(stage_panel(stage, 4).title, "before layer 0");
    stage.when = StageMode::After;
    EXPECT_EQ(stage_panel(stage, 4).title, "after layer 0");
    stage.layer = 3;
    EXPECT_EQ(stage_panel(stage, 4).title, "after layer 3");
}

TEST(MapFile, EachTokenHasTheReasonOfItsStage) {
    using draw::Mark;
    StageReport stage;
    stage.kept = {1, 2, 3, 4};
    stage.pivots = {1};
    stage.coverage = {2};
    stage.merged = {3};
    EXPECT_EQ(stage_panel(stage, 6).marks, (std::vector<Mark>{Mark::Dropped, Mark::Pivot, Mark::Coverage,
                                                              Mark::Merged, Mark::Kept, Mark::Dropped}));
}

}  // namespace
}  // namespace clasp::cli
