// What becomes of clips: sizes, grids, marks and times by the tables of the models' authors.
#include "model/clip_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "support/qwen_vision.h"
#include "support/random_mmproj.h"
#include "support/reference_qwen.h"
#include "support/vision_fixture.h"

namespace clasp::model {
namespace {

using test::QwenKind;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// n frames at 2 per second.
ClipFrames frames_of(PixelSize size, std::size_t n, double fps = 2.0) {
    ClipFrames clip = {size, {}, fps};
    for (std::size_t i = 0; i < n; ++i) clip.seconds.push_back(static_cast<double>(i) / fps);
    return clip;
}

test::LoadedQwen small_qwen(QwenKind kind) {
    test::QwenMmprojSpec spec;
    spec.kind = kind;
    if (kind == QwenKind::Qwen3) {
        spec.patch_size = 16;
        spec.deepstack = {0, 2};
    }
    return test::load_qwen(spec);
}

VisionPlan planned(const VisionModel& model, const ClipFrames& clip, const PlanOptions& options = {}) {
    auto plan = model.plan_clip(clip, options);
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    return plan.ok() ? *plan : VisionPlan();
}

std::string words_of(const VisionPlan& plan) {
    std::string words;
    for (const ArrangedRun& run : plan.arrangement) {
        words += run.kind == ArrangedRun::Kind::Text ? run.text : "[" + std::to_string(run.count) + "]";
    }
    return words;
}

TEST(ClipPlan, QwensSizesAndGridsAreTheAuthors) {
    const test::LoadedQwen loaded = small_qwen(QwenKind::Qwen25);
    struct Case {
        PixelSize size;
        std::size_t n;
        PixelSize resized;
        Grid tokens;
        std::size_t n_tokens;
    };
    for (const Case& c : {Case{{640, 360}, 20, {644, 364}, {13, 23}, 2990},
                          Case{{1920, 1080}, 20, {1008, 560}, {20, 36}, 7200},
                          Case{{320, 240}, 6, {392, 280}, {10, 14}, 420}}) {
        const VisionPlan plan = planned(*loaded.model, frames_of(c.size, c.n));
        EXPECT_EQ(plan.layout.resized, c.resized);
        EXPECT_EQ(plan.layout.grid, c.tokens);
        EXPECT_EQ(plan.layout.n_steps, c.n / 2);
        EXPECT_EQ(plan.layout.n_tokens(), c.n_tokens);
        EXPECT_EQ(plan.pieces.size(), c.n / 2);
        EXPECT_TRUE(plan.pieces.back().is_pair());
    }
    // Long clips have smaller frames: 0.9 of 128000 tokens for all, at least 1.05 times 128 each.
    EXPECT_EQ(planned(*loaded.model, frames_of({1920, 1080}, 768)).layout.resized, (PixelSize{644, 336}));
}

TEST(ClipPlan, LimitsThatAreAskedForReplaceTheAuthors) {
    const test::LoadedQwen loaded = small_qwen(QwenKind::Qwen25);
    PlanOptions few;
    few.detail.max_tokens = 30;
    EXPECT_LE(planned(*loaded.model, frames_of({640, 360}, 4), few).layout.n_tokens(), 60U);
    PlanOptions many;
    many.detail.min_tokens = 1000;
    EXPECT_GE(planned(*loaded.model, frames_of({640, 360}, 4), many).layout.n_tokens(), 2000U);
}

// The worked example: 4 steps at 2 frames a second, then 4 frames a second.
TEST(ClipPlan, StepsOfQwen25AreScaledByTime) {
    const test::LoadedQwen loaded = small_qwen(QwenKind::Qwen25);
    EXPECT_THAT(planned(*loaded.model, frames_of({84, 56}, 8)).times, ElementsAre(0, 2, 4, 6));
    EXPECT_THAT(planned(*loaded.model, frames_of({84, 56}, 8, 4.0)).times, ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(planned(*loaded.model, frames_of({84, 56}, 8, 3.0)).times, ElementsAre(0, 1, 2, 4));
    // A hair above 2 frames a second: no step may come one position too early. At 30000/1001 none is late.
    for (const double fps : {2.0 / 0.9999, 2.0 / 1.0001}) {
        EXPECT_THAT(planned(*loaded.model, frames_of({84, 56}, 8, fps)).times, ElementsAre(0, 2, 4, 6))
            << fps;
    }
    const double slower = 20.0 / 300.0 * 30000.0 / 1001.0;
    EXPECT_EQ(planned(*loaded.model, frames_of({84, 56}, 766, slower)).times.back(), 764);
    EXPECT_EQ(planned(*loaded.model, frames_of({84, 56}, 8, 1.9)).times.back(), 6) << "6.3";
    const test::LoadedQwen older = small_qwen(QwenKind::Qwen2);
    EXPECT_THAT(planned(*older.model, frames_of({84, 56}, 8, 3.0)).times, ElementsAre(0, 1, 2, 3));
}

TEST(ClipPlan, MarksStandAroundAllStepsOrAroundEach) {
    const ClipFrames clip = frames_of({84, 56}, 4);
    const std::string n =
        "[" + std::to_string(planned(*small_qwen(QwenKind::Qwen25).model, clip).pieces[0].shape.n_tokens()) +
        "]";
    EXPECT_EQ(words_of(planned(*small_qwen(QwenKind::Qwen25).model, clip)),
              "<|vision_start|>" + n + n + "<|vision_end|>");
    const VisionPlan three = planned(*small_qwen(QwenKind::Qwen3).model, clip);
    const std::string m = "[" + std::to_string(three.pieces[0].shape.n_tokens()) + "]";
    EXPECT_EQ(words_of(three), "<0.2 seconds><|vision_start|>" + m +
                                   "<|vision_end|><1.2 seconds><|vision_start|>" + m + "<|vision_end|>");
    EXPECT_THAT(three.times, Each(0));
    EXPECT_THAT(words_of(planned(*small_qwen(QwenKind::Qwen25).model, clip, {.compat = Compat::LlamaCpp})),
                HasSubstr("]<|vision_end|><|vision_start|>["));
}

TEST(ClipPlan, TheLastFrameOfAnOddNumberCountsTwice) {
    const VisionPlan plan = planned(*small_qwen(QwenKind::Qwen25).model, frames_of({84, 56}, 5));
    ASSERT_EQ(plan.pieces.size(), 3U);
    EXPECT_EQ(plan.pieces[2].view, 4U);
    EXPECT_EQ(plan.pieces[2].second_view, 4U);
}

// Steps of equal frames are equal, and equal to the picture; a step of two frames is the slow reference's.
TEST(ClipPlan, StepsAreThoseOfTheSlowReference) {
    for (const QwenKind kind : {QwenKind::Qwen2, QwenKind::Qwen25, QwenKind::Qwen3}) {
        test::LoadedQwen loaded = small_qwen(kind);
        const PixelSize size = kind == QwenKind::Qwen3 ? PixelSize{192, 160} : PixelSize{168, 140};
        PlanOptions options;
        options.detail = {.min_tokens = 30, .max_tokens = 30};
        const VisionPlan plan = planned(*loaded.model, frames_of(size, 6), options);
        ASSERT_EQ(plan.layout.resized, size);
        PieceRenderer renderer(plan);
        const std::vector<std::uint32_t> seeds = {1, 2, 3, 3, 3, 3};
        for (std::size_t i = 0; i < seeds.size(); ++i) {
            ASSERT_TRUE(renderer.add(test::random_picture(size, seeds[i]), i).ok());
        }
        const auto pieces = loaded.model->pieces_of(renderer, Compat::Original);
        ASSERT_TRUE(pieces.ok()) << pieces.status().message();
        const auto reader = GgufReader::parse(test::bytes_of(loaded.file));
        const test::ReferenceQwen reference(*reader);
        const std::size_t last = loaded.model->info().n_blocks - 1;
        std::vector<std::vector<float>> steps;
        for (const PiecePixels& piece : *pieces) {
            ASSERT_EQ(piece.values.size(), 6U * static_cast<std::size_t>(size.width * size.height));
            const auto layers = loaded.session->encode(piece, {.layers = {last}});
            ASSERT_TRUE(layers.ok()) << layers.status().message();
            const auto tokens = loaded.session->project(*layers, {{last, 1.0}}, {.gram = false});
            ASSERT_TRUE(tokens.ok());
            steps.push_back(tokens->values);
        }
        const auto wanted = reference.encode((*pieces)[0].values, static_cast<std::size_t>(size.width),
                                             static_cast<std::size_t>(size.height));
        EXPECT_LT(
            test::relative_error(steps[0], reference.project(wanted.layers[last], wanted.columns).values),
            2e-3);
        EXPECT_EQ(steps[1], steps[2]);
        EXPECT_NE(steps[0], steps[1]);
        PiecePixels still = (*pieces)[1];
        still.piece.second_view = kNoView;
        still.values.resize(still.values.size() / 2);
        const auto alone = loaded.session->encode(still, {.layers = {last}});
        ASSERT_TRUE(alone.ok()) << alone.status().message();
        EXPECT_EQ(loaded.session->project(*alone, {{last, 1.0}}, {.gram = false})->values, steps[1]);
    }
}

TEST(ClipPlan, OthersSeeFramesAsPicturesOneAfterTheOther) {
    test::MmprojSpec spec;
    const std::string file = test::random_mmproj(spec);
    auto compute = Compute::create({.n_threads = 1, .use_gpu = false});
    const auto model = VisionModel::load_bytes(test::bytes_of(file), {}, *compute);
    ASSERT_TRUE(model.ok()) << model.status().message();
    const VisionPlan plan = planned(**model, frames_of({60, 44}, 3));
    EXPECT_EQ(words_of(plan), "[16]\n[16]\n[16]");
    EXPECT_EQ(plan.layout.n_steps, 3U);
    EXPECT_EQ(plan.layout.regions[2].step, 2U);
    EXPECT_EQ(plan.views[2].frame, 2U);
    EXPECT_EQ((*model)->info().sampling.n_frames, 8U);
}

TEST(ClipPlan, InternvlLabelsItsFramesOfOneTile) {
    const std::string file = test::random_mmproj(test::internvl_mmproj());
    auto compute = Compute::create({.n_threads = 1, .use_gpu = false});
    const auto model = VisionModel::load_bytes(test::bytes_of(file), {}, *compute);
    ASSERT_TRUE(model.ok()) << model.status().message();
    EXPECT_EQ(words_of(planned(**model, frames_of({640, 480}, 2))),
              "Frame-1: <img>[4]</img>\nFrame-2: <img>[4]</img>");
}

TEST(ClipPlan, RendersFramesAsTheyCome) {
    const VisionPlan plan = planned(*small_qwen(QwenKind::Qwen25).model, frames_of({168, 140}, 2));
    PieceRenderer renderer(plan);
    EXPECT_THAT(renderer.add(test::random_picture({170, 140}, 1), 0).message(),
                HasSubstr("but the plan is for"));
    ASSERT_TRUE(renderer.add(test::random_picture({168, 140}, 1), 0).ok());
    const auto missing = renderer.finish([](const Image&) { return std::vector<float>(1); },
                                         [](const image::PixelPlanes&) { return std::vector<float>(1); });
    EXPECT_THAT(missing.status().message(), HasSubstr("was not given"));
}

}  // namespace
}  // namespace clasp::model
