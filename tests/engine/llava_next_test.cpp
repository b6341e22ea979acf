// Whole requests through a small LLaVA-NeXT: an overview, tiles, and line breaks that are carried.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "clasp/engine.h"
#include "clasp/schedule.h"
#include "engine/arranged_image.h"
#include "engine/live_rows.h"
#include "image/preprocess.h"
#include "image/test_images.h"
#include "model/tiled_plan.h"
#include "support/family_files.h"
#include "support/reference_vit.h"
#include "support/vision_fixture.h"

namespace clasp {
namespace {

using test::picture;
using testing::HasSubstr;

constexpr std::size_t kWidth = 96;
constexpr std::size_t kOverview = 16;  // tiles of 56 pixels, 4 x 4 patches
// 120 x 90 becomes 112 x 84 of 112 x 112: 8 x 8 patches, a row above and below is padding.
constexpr std::size_t kRows = 6;
constexpr std::size_t kColumns = 8;
constexpr std::size_t kVisual = kOverview + kRows * kColumns;

class LlavaNextTest : public testing::Test {
   protected:
    static void SetUpTestSuite() {
        for (std::size_t i = 0; i < kMerges.size(); ++i) {
            files()[i] = std::make_unique<test::FamilyFiles>(
                std::string("next-") + kMerges[i], test::llava_family_text(),
                test::random_mmproj(test::next_family_vision(kMerges[i])));
            engines()[i] = files()[i]->load();
        }
    }
    static void TearDownTestSuite() {
        for (auto& engine : engines()) engine.reset();
        for (auto& both : files()) both.reset();
    }
    static constexpr std::array<const char*, 3> kMerges = {"spatial_unpad", "spatial", "flat"};
    static constexpr std::size_t kUnpad = 0;
    static constexpr std::size_t kSpatial = 1;
    static constexpr std::size_t kFlat = 2;

    static std::string vision_path(std::size_t merge) { return files()[merge]->vision(); }
    static std::array<std::unique_ptr<test::FamilyFiles>, 3>& files() {
        static std::array<std::unique_ptr<test::FamilyFiles>, 3> all;
        return all;
    }
    static std::array<std::unique_ptr<Engine>, 3>& engines() {
        static std::array<std::unique_ptr<Engine>, 3> all;
        return all;
    }

    [[nodiscard]] AskRequest request() const { return test::question_about(picture_); }
    static Answer ask(const AskRequest& request, std::size_t merge = kUnpad) {
        return test::answer_of(*engines()[merge], request);
    }
    // Line breaks whose row has one of these tokens.
    static std::size_t lines_of(const std::vector<TokenIndex>& kept) {
        std::set<std::size_t> rows;
        for (const TokenIndex token : kept) {
            if (token >= kOverview) rows.insert((token - kOverview) / kColumns);
        }
        return rows.size();
    }

    std::string picture_ = picture(1, 120, 90);
};

TEST_F(LlavaNextTest, ThePictureIsWhatTheMergeTypeSays) {
    AskRequest vanilla = request();
    vanilla.vanilla = true;
    const Answer unpad = ask(vanilla);
    EXPECT_EQ(unpad.tokens.visual, kVisual);
    EXPECT_EQ(unpad.tokens.entering, kVisual + kRows) << "line breaks are counted where they run";
    EXPECT_EQ(unpad.tokens.average, static_cast<double>(kVisual + kRows));
    EXPECT_EQ(unpad.layouts[0].n_fixed, kRows);
    EXPECT_EQ(unpad.layouts[0].grid, (Grid{kRows, kColumns}));
    EXPECT_EQ(unpad.layouts[0].n_pieces, 5U);
    const Answer spatial = ask(vanilla, kSpatial);
    const Answer flat = ask(vanilla, kFlat);
    EXPECT_EQ(spatial.tokens.entering, kOverview + 64);
    EXPECT_EQ(flat.tokens.entering, kOverview + 64);
    EXPECT_NE(spatial.logits, flat.logits);
    // llama.cpp: small pictures are not cut, no line breaks, whatever the file says.
    vanilla.compat = Compat::LlamaCpp;
    EXPECT_EQ(ask(vanilla).tokens.entering, kOverview + 64);
    EXPECT_EQ(ask(vanilla).logits, ask(vanilla, kSpatial).logits);
    const std::string small = picture(1, 52, 40);
    vanilla.images = {{{}, small}};
    EXPECT_EQ(ask(vanilla).tokens.entering, kOverview);
}

// Asked for on one file, an order is that of the file that has it as its own.
TEST_F(LlavaNextTest, AnOrderThatIsAskedForIsThatOfAFileWithIt) {
    AskRequest vanilla = request();
    vanilla.vanilla = true;
    for (std::size_t own = 0; own < kMerges.size(); ++own) {
        const Answer wanted = ask(vanilla, own);
        for (std::size_t other = 0; other < kMerges.size(); ++other) {
            AskRequest asked = vanilla;
            asked.detail.tile_merge = kMerges[own];
            EXPECT_EQ(ask(asked, other).logits, wanted.logits) << kMerges[own] << " of " << kMerges[other];
        }
    }
}

// The pieces cut by hand, the original tower in plain loops, the rows put together as the authors' code
// does it.
TEST_F(LlavaNextTest, RowsAreThoseOfASlowReference) {
    auto compute = model::Compute::create({.n_threads = 1, .use_gpu = false});
    const auto vision =
        model::VisionModel::load(vision_path(kUnpad), {.weights = model::VisionWeights::F32}, *compute);
    ASSERT_TRUE(vision.ok()) << vision.status().message();
    const auto session = model::VisionSession::create(*vision);
    const Mix mix = {{4, 0.25}, {22, 0.75}};
    engine::VisualRequest seeing;
    seeing.mix = mix;
    const auto planned = engine::plan_pictures({{{}, picture_}}, **vision, {}, nullptr);
    ASSERT_TRUE(planned.ok());
    const auto seen = engine::prepare_images(*planned, seeing, **session, nullptr);
    ASSERT_TRUE(seen.ok()) << seen.status().message();
    const auto text = model::TextModel::load(files()[kUnpad]->text(), *compute);
    ASSERT_TRUE(text.ok());
    std::int32_t next_line = 0;
    const auto arranged = engine::arrange_image(seen->images[0], false, **vision, **text, next_line);
    ASSERT_TRUE(arranged.ok()) << arranged.status().message();
    ASSERT_EQ(arranged->parts.size(), 1U);
    const engine::PromptPart& part = arranged->parts[0];

    const std::string file = test::random_mmproj(test::next_family_vision());
    const auto reader = model::GgufReader::parse(test::bytes_of(file));
    ASSERT_TRUE(reader.ok());
    const test::ReferenceVit reference(*reader);
    const auto decoded =
        decode_image({reinterpret_cast<const std::uint8_t*>(picture_.data()), picture_.size()});
    ASSERT_TRUE(decoded.ok());
    const auto tokens_of = [&](const Image& tile) {
        const auto planes = image::normalise(tile, {}, Compat::Original);
        const test::ReferenceOutput layers = reference.encode(planes->values);
        test::Matrix fused = test::patches_of(layers.layers[4]);
        const test::Matrix last = test::patches_of(layers.layers[22]);
        for (std::size_t i = 0; i < fused.values.size(); ++i) {
            fused.values[i] = 0.25 * fused.values[i] + 0.75 * last.values[i];
        }
        return reference.project(fused);
    };
    std::vector<double> wanted;
    const auto add_row = [&](const test::Matrix& rows, std::size_t row) {
        for (std::size_t i = 0; i < kWidth; ++i) wanted.push_back(rows.at(row, i));
    };
    const auto overview = image::resize(*decoded, {56, 56}, image::Filter::Bicubic);
    const test::Matrix whole = tokens_of(*overview);
    for (std::size_t i = 0; i < kOverview; ++i) add_row(whole, i);
    const auto resized = image::resize(*decoded, {112, 84}, image::Filter::Bicubic);
    const auto padded = image::paint_on_canvas(*resized, {{112, 112}, 0, 14, {0, 0, 0}});
    std::vector<test::Matrix> tiles;
    for (const auto& [left, top] : {std::pair{0, 0}, {56, 0}, {0, 56}, {56, 56}}) {
        tiles.push_back(tokens_of(*image::crop(*padded, left, top, {56, 56})));
    }
    const std::vector<float> newline = *(*vision)->fixed_row(0);
    for (std::size_t y = 1; y < 7; ++y) {
        for (std::size_t x = 0; x < 8; ++x) add_row(tiles[y / 4 * 2 + x / 4], y % 4 * 4 + x % 4);
        wanted.insert(wanted.end(), newline.begin(), newline.end());
    }
    const std::vector<float> got(part.embeddings.begin(), part.embeddings.end());
    ASSERT_EQ(got.size(), wanted.size());
    EXPECT_LT(test::relative_error(got, wanted), 2e-4);
    for (std::size_t row = 0; row < arranged->n_rows; ++row) {
        const bool is_newline = row >= kOverview && (row - kOverview) % 9 == 8;
        EXPECT_EQ(part.is_carried[row], is_newline ? 1 : 0) << row;
        EXPECT_EQ(part.places[row], static_cast<std::int32_t>(row));
    }
}

// ---- Line breaks ----

TEST_F(LlavaNextTest, ALineBreakLivesIffAPatchOfItsRowDoes) {
    auto compute = model::Compute::create({.n_threads = 1, .use_gpu = false});
    const auto vision = model::VisionModel::load(vision_path(kUnpad), {}, *compute);
    const auto text = model::TextModel::load(files()[kUnpad]->text(), *compute);
    ASSERT_TRUE(vision.ok() && text.ok());
    std::mt19937 random(3);
    for (int round = 0; round < 60; ++round) {
        engine::SeenImage image;
        image.plan = *(*vision)->plan({120, 90}, {});
        std::set<std::size_t> rows;
        for (TokenIndex token = 0; token < kVisual; ++token) {
            if (random() % 64 >= static_cast<unsigned>(round)) continue;
            image.places.push_back(token);
            image.values.insert(image.values.end(), kWidth, static_cast<float>(token));
            if (token >= kOverview) rows.insert((token - kOverview) / kColumns);
        }
        if (image.places.empty()) continue;
        std::int32_t next_line = 0;
        const auto arranged = engine::arrange_image(image, true, **vision, **text, next_line);
        ASSERT_TRUE(arranged.ok()) << arranged.status().message();
        EXPECT_EQ(next_line, static_cast<std::int32_t>(kRows));
        ASSERT_EQ(arranged->parts.size(), 1U);
        const engine::PromptPart& part = arranged->parts[0];
        std::set<std::size_t> carried;
        for (std::size_t i = 0; i < part.places.size(); ++i) {
            if (part.is_carried[i] == 0) continue;
            const auto place = static_cast<std::size_t>(part.places[i]);
            ASSERT_EQ((place - kOverview) % (kColumns + 1), kColumns) << "behind its row";
            carried.insert((place - kOverview) / (kColumns + 1));
        }
        EXPECT_EQ(carried, rows);
        EXPECT_EQ(part.places.size(), image.places.size() + rows.size());
    }
}

// Through stages of the decoder: what is reported is the kept tokens and the breaks of their rows; breaks are
// never among what a stage chooses from.
TEST_F(LlavaNextTest, StagesCarryLineBreaksAndScoreNone) {
    for (const std::string method : {"clasp", "clasp+", "random", "attention", "uniform"}) {
        for (const std::size_t last : {1U, 3U, 9U, 20U}) {
            SCOPED_TRACE(method + " " + std::to_string(last));
            AskRequest pruned = request();
            pruned.method = method;
            pruned.generation.max_tokens = 1;
            pruned.forced_stages = {{1, 30}, {3, last}};
            const Answer answer = ask(pruned);
            ASSERT_EQ(answer.stages.size(), 2U);
            EXPECT_EQ(answer.stages[0].kept.size(), 30U);
            EXPECT_EQ(answer.stages[1].kept.size(), last);
            for (const StageReport& stage : answer.stages) EXPECT_LT(stage.kept.back(), kVisual);
            const std::size_t first = 30 + lines_of(answer.stages[0].kept);
            const std::size_t second = last + lines_of(answer.stages[1].kept);
            EXPECT_EQ(answer.tokens.final, second);
            EXPECT_DOUBLE_EQ(answer.tokens.average,
                             static_cast<double>(kVisual + kRows + 2 * first + 5 * second) / 8.0);
        }
    }
}

// ---- Line breaks as patches ----

// The same prompt: only who may choose what differs.
TEST_F(LlavaNextTest, AsPatchesLineBreaksAreTokensOfTheSamePrompt) {
    AskRequest vanilla = request();
    vanilla.vanilla = true;
    const Answer carried = ask(vanilla);
    vanilla.detail.newline = "as-patch";
    const Answer patches = ask(vanilla);
    EXPECT_EQ(patches.logits, carried.logits);
    EXPECT_EQ(patches.tokens.visual, kVisual + kRows);
    EXPECT_EQ(patches.tokens.entering, carried.tokens.entering);
    EXPECT_EQ(patches.layouts[0].n_fixed, 0U);
    EXPECT_TRUE(patches.layouts[0].regions[1].has_breaks);
    vanilla.detail.newline = "carried";
    EXPECT_EQ(ask(vanilla).tokens.visual, kVisual);
    // Other orders have no line breaks, so there is nothing to treat.
    vanilla.detail.newline = "as-patch";
    EXPECT_EQ(ask(vanilla, kSpatial).tokens.visual, kOverview + 64);
}

TEST_F(LlavaNextTest, AsPatchesLineBreaksAreChosenAndCounted) {
    const auto is_break = [](TokenIndex token) {
        return token >= kOverview && (token - kOverview) % (kColumns + 1) == kColumns;
    };
    std::size_t n_breaks = 0;
    for (const std::string method : {"clasp", "clasp+", "random", "uniform", "fastv", "divprune"}) {
        SCOPED_TRACE(method);
        AskRequest pruned = request();
        pruned.method = method;
        pruned.detail.newline = "as-patch";
        pruned.generation.max_tokens = 1;
        pruned.budget = {BudgetSpec::Kind::Tokens, 30};
        const Answer answer = ask(pruned);
        const std::vector<TokenIndex>& kept = answer.stages.back().kept;
        EXPECT_LT(kept.back(), kVisual + kRows);
        EXPECT_EQ(answer.tokens.final, kept.size()) << "nothing is carried";
        for (const TokenIndex token : kept) {
            if (is_break(token)) ++n_breaks;
        }
    }
    EXPECT_GT(n_breaks, 0U);
    EXPECT_LT(n_breaks, 6 * kRows);
}

TEST_F(LlavaNextTest, AsPatchesLineBreaksHaveNoEncoderRow) {
    AskRequest pruned = request();
    pruned.detail.newline = "as-patch";
    pruned.method = "fastervlm";
    pruned.budget = {BudgetSpec::Kind::Tokens, 30};
    const auto refused = engines()[kUnpad]->ask(pruned);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.status().code(), Code::Unsupported);
    EXPECT_THAT(refused.status().message(), HasSubstr("line breaks that are treated as patches have none"));
    pruned.detail.newline = "dropped";
    EXPECT_THAT(engines()[kUnpad]->ask(pruned).status().message(),
                HasSubstr("no way to treat line breaks called 'dropped'; there are carried and as-patch"));
}

// What a budget counts is what a method chooses from.
TEST_F(LlavaNextTest, AsPatchesAPercentageCountsLineBreaks) {
    AskRequest pruned = request();
    pruned.method = "clasp";
    pruned.detail.newline = "as-patch";
    pruned.budget = {BudgetSpec::Kind::Percent, 50};
    EXPECT_NEAR(ask(pruned).tokens.average, (kVisual + kRows) / 2.0, 0.5);
}

// ---- Methods, budgets, memory ----

// What a method keeps brings the line breaks of its rows, wherever it acts.
TEST_F(LlavaNextTest, MethodsBeforeTheDecoderCarryLineBreaks) {
    std::size_t n_before = 0;
    for (const std::string method : {"visionzip", "fastervlm", "hired", "divprune", "vispruner", "clasp"}) {
        SCOPED_TRACE(method);
        AskRequest pruned = request();
        pruned.method = method;
        if (method == "visionzip") pruned.method_options = {"class-token=drop"};
        pruned.budget = {BudgetSpec::Kind::Tokens, 28};
        pruned.generation.max_tokens = 1;
        const Answer answer = ask(pruned);
        const std::vector<TokenIndex>& kept = answer.stages.back().kept;
        EXPECT_LT(kept.size(), kVisual);
        EXPECT_EQ(answer.tokens.final, kept.size() + lines_of(kept));
        if (answer.stages.back().site == "before") ++n_before;
    }
    EXPECT_EQ(n_before, 5U);
}

// The published schedules by the picture's own number of tokens: 2304 of 640 x 480 in a 32-layer decoder.
TEST(LlavaNextSchedule, IsScaledByTheRealNumberOfTokens) {
    const auto schedule_of = [](std::size_t n_visual, double budget) {
        ScheduleRequest request;
        request.n_layers = 32;
        request.n_visual = n_visual;
        request.budget = {BudgetSpec::Kind::Tokens, budget};
        auto schedule = make_schedule(request);
        EXPECT_TRUE(schedule.ok()) << schedule.status().message();
        return std::move(schedule).value();
    };
    const auto counts = [](const Schedule& schedule) {
        std::vector<std::size_t> keep;
        for (const Stage& stage : schedule.stages) keep.push_back(stage.keep);
        return keep;
    };
    EXPECT_EQ(counts(schedule_of(2880, 960)), (std::vector<std::size_t>{1500, 1000, 550}));
    EXPECT_EQ(counts(schedule_of(2880, 640)), (std::vector<std::size_t>{1515, 550, 180}));
    EXPECT_EQ(counts(schedule_of(2880, 320)), (std::vector<std::size_t>{330, 150, 85}));
    EXPECT_NEAR(schedule_of(2880, 960).average, 940.9, 0.05);
    EXPECT_NEAR(schedule_of(2880, 640).average, 619.7, 0.05);
    EXPECT_NEAR(schedule_of(2880, 320).average, 308.6, 0.05);
    EXPECT_EQ(counts(schedule_of(2304, 768)), (std::vector<std::size_t>{1200, 800, 440}));
    EXPECT_EQ(schedule_of(2304, 768).source, ScheduleSource::Scaled);
    // The paper's 160 lies below what two layers at full length cost: 2 * 2880 / 32 = 180.
    ScheduleRequest least;
    least.n_layers = 32;
    least.n_visual = 2880;
    least.budget = {BudgetSpec::Kind::Tokens, 160};
    EXPECT_THAT(make_schedule(least).status().message(), HasSubstr("the smallest possible budget is 180.94"));
}

// A share is of the tokens that can be chosen.
TEST_F(LlavaNextTest, APercentageIsOfTheRealTokens) {
    AskRequest pruned = request();
    pruned.method = "clasp";
    pruned.budget = {BudgetSpec::Kind::Percent, 50};
    const Answer answer = ask(pruned);
    const std::vector<StageReport>& stages = answer.stages;
    ASSERT_EQ(stages.size(), 3U);
    double sum = 0.0;
    std::size_t layer = 0;
    std::size_t alive = kVisual;
    for (const StageReport& stage : stages) {
        sum += static_cast<double>(alive * (stage.layer - layer));
        layer = stage.layer;
        alive = stage.kept.size();
    }
    sum += static_cast<double>(alive * (8 - layer));
    EXPECT_NEAR(sum / 8.0, kVisual / 2.0, 0.5) << "line breaks are not part of the budget";
    EXPECT_GT(answer.tokens.average, kVisual / 2.0) << "but of what is reported";
}

TEST_F(LlavaNextTest, PicturesOfDifferentShapesShareARequest) {
    AskRequest both = request();
    const std::string tall = picture(2, 40, 130);
    const std::string small = picture(3, 20, 20);
    both.images = {{{}, picture_}, {{}, tall}, {{}, small}};
    both.method = "clasp";
    both.forced_stages = {{2, 30}};
    const Answer answer = ask(both);
    ASSERT_EQ(answer.layouts.size(), 3U);
    EXPECT_EQ(answer.layouts[1].tiles, (Grid{3, 1}));
    EXPECT_EQ(answer.layouts[2].tiles, (Grid{2, 1})) << "small pictures are cut too";
    std::size_t n_rows = 0;
    for (const ImageLayout& layout : answer.layouts) n_rows += layout.n_tokens() + layout.n_fixed;
    EXPECT_EQ(answer.tokens.entering, n_rows);
    EXPECT_EQ(answer.stages[0].kept.size(), 30U);
}

// Tiles that show the same are the same: one colour over the whole picture.
TEST_F(LlavaNextTest, EqualTilesGiveEqualTokens) {
    auto compute = model::Compute::create({.n_threads = 1, .use_gpu = false});
    const auto vision = model::VisionModel::load(vision_path(kFlat), {}, *compute);
    ASSERT_TRUE(vision.ok());
    const auto session = model::VisionSession::create(*vision);
    engine::VisualRequest seeing;
    seeing.mix = {{22, 1.0}};
    const std::string grey = test::make_bmp(112, 112, [](std::uint32_t) { return 120U; });
    const auto planned = engine::plan_pictures({{{}, grey}}, **vision, {}, nullptr);
    ASSERT_TRUE(planned.ok());
    const auto seen = engine::prepare_images(*planned, seeing, **session, nullptr);
    ASSERT_TRUE(seen.ok()) << seen.status().message();
    const std::vector<float>& values = seen->images[0].values;
    const std::size_t n = kOverview * kWidth;
    ASSERT_EQ(values.size(), 5 * n);
    for (std::size_t piece = 1; piece < 5; ++piece) {
        EXPECT_TRUE(std::equal(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(n),
                               values.begin() + static_cast<std::ptrdiff_t>(piece * n)));
    }
}

// A picture so narrow that no column of its tiles is left still has its overview and line breaks.
TEST_F(LlavaNextTest, AThreadIsAnswered) {
    AskRequest asked = request();
    const std::string thread = picture(1, 4, 700);
    asked.images = {{{}, thread}};
    asked.forced_stages = {{1, 5}};
    asked.method = "clasp";
    const Answer answer = ask(asked);
    EXPECT_EQ(answer.tokens.visual, kOverview);
    EXPECT_EQ(answer.layouts[0].n_fixed, 8U);
    EXPECT_EQ(answer.layouts[0].n_pieces, 1U) << "no tile is worth encoding";
    EXPECT_EQ(answer.stages[0].kept.size(), 5U);
}

}  // namespace
}  // namespace clasp
