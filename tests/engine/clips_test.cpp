// Whole requests about clips through small models of every family that sees them: pairs of frames in one grid
// with times, steps with time stamps, labelled frames, frames as pictures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/engine.h"
#include "engine/arranged_image.h"
#include "engine/picture_input.h"
#include "engine_fixture.h"
#include "seen_frames.h"
#include "support/needs_ffmpeg.h"
#include "support/page_table.h"
#include "support/qwen_pair.h"
#include "support/vision_fixture.h"

namespace clasp {
namespace {

using test::QwenKind;
using testing::AllOf;
using testing::Contains;
using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr std::size_t kFrames = 4;

struct Family {
    const char* name;
    std::size_t n_steps;   // of kFrames
    std::size_t n_tokens;  // of a step
};
// Frames of 168 x 140 pixels: Qwen's are enlarged to at least 128 tokens.
constexpr Family kLlava = {"llava", 4, 64};
constexpr Family kNext = {"llava-next", 4, 64};
constexpr Family kInternvl = {"internvl", 4, 4};
constexpr Family kQwen2 = {"qwen2", 2, 143};
constexpr Family kQwen25 = {"qwen2.5", 2, 143};
constexpr Family kQwen3 = {"qwen3", 2, 143};
// A class row each. Of four frames the authors' model sees four; the port any number.
constexpr Family kVideo = {"videollava", 4, 65};
constexpr Family kVideoPort = {"videollava-port", 4, 65};

std::vector<std::size_t> frames_of(const SeenOf& file, const Family& family) {
    const std::string_view name = family.name;
    if (name.starts_with("qwen")) return file.qwen;
    if (name == kVideo.name) return file.authors;
    if (name == kVideoPort.name) return file.port;
    return name == kInternvl.name ? file.internvl : file.others;
}

class Clips : public testing::TestWithParam<Family> {
   protected:
    static constexpr std::uint32_t kWidth = 168;
    static constexpr std::uint32_t kHeight = 140;

    void SetUp() override {
        prefix_ = std::string(test::scratch_dir()) + "/clips-" + std::to_string(getpid());
        std::filesystem::create_directories(prefix_ + "/frames");
        for (unsigned i = 0; i < kFrames; ++i) {
            std::ofstream(frame(i), std::ios::binary) << picture(i + 1, kWidth, kHeight);
        }
        write_models();
        load();
    }
    void TearDown() override {
        engine_.reset();
        std::filesystem::remove_all(prefix_);
    }
    std::string frame(std::size_t i) const { return prefix_ + "/frames/" + std::to_string(i) + ".bmp"; }
    bool is(const Family& family) const { return std::string(GetParam().name) == family.name; }
    virtual std::int32_t context_length() const { return test::RandomLlama().context_length; }
    bool is_video() const { return is(kVideo) || is(kVideoPort); }
    bool is_qwen() const { return is(kQwen2) || is(kQwen25) || is(kQwen3); }
    QwenKind kind() const {
        return is(kQwen2) ? QwenKind::Qwen2 : is(kQwen25) ? QwenKind::Qwen25 : QwenKind::Qwen3;
    }

    void write_models() {
        std::ofstream vision(prefix_ + "/mmproj.gguf", std::ios::binary);
        if (is_qwen()) {
            test::RandomLlama text = test::qwen_text(kind());
            text.context_length = context_length();
            ASSERT_TRUE(test::write_random_llama(prefix_ + "/text.gguf", text));
            test::write_random_qwen_mmproj(test::qwen_vision(kind(), text), vision);
            return;
        }
        test::RandomLlama text;
        text.context_length = context_length();
        text.n_layers = 8;
        text.width = 96;
        text.n_heads = 3;
        text.n_kv_heads = 3;
        test::MmprojSpec spec;
        if (is_video()) {
            spec = test::videollava_mmproj(
                {.n_frames = kFrames, .has_time = is(kVideo), .is_port = is(kVideoPort)});
            spec.image_size = 112;
            spec.n_blocks = 23;
        } else if (is(kInternvl)) {
            text.architecture = "qwen2";
            text.has_qkv_biases = true;
            text.control_tokens = {"<|im_start|>", "<|im_end|>", "<img>", "</img>"};
            spec = test::internvl_mmproj();
            spec.n_blocks = 24;
        } else {
            spec.image_size = 112;
            spec.n_blocks = 23;
            if (is(kNext)) spec = test::tiled(spec);
        }
        spec.output_width = 96;
        ASSERT_TRUE(test::write_random_llama(prefix_ + "/text.gguf", text));
        test::write_random_mmproj(spec, vision);
    }
    void load() {
        auto engine = Engine::load(
            {.model = prefix_ + "/text.gguf", .mmproj = prefix_ + "/mmproj.gguf", .n_threads = 1});
        ASSERT_TRUE(engine.ok()) << engine.status().message();
        engine_ = std::move(*engine);
    }
    AskRequest request() const {
        AskRequest request;
        request.images = {{.path = prefix_ + "/frames", .bytes = {}}};
        request.question = "what does the man do after he sits down";
        request.generation.max_tokens = 2;
        request.want_logits = true;
        return request;
    }
    Answer ask(const AskRequest& request) const {
        auto answer = engine_->ask(request);
        EXPECT_TRUE(answer.ok()) << answer.status().message();
        return answer.ok() ? std::move(*answer) : Answer();
    }
    std::string error_of(const AskRequest& request) const { return engine_->ask(request).status().message(); }

    void expect_seen(const SeenOf& file) const {
        SCOPED_TRACE(file.path);
        AskRequest asked = request();
        asked.images = {{.path = std::string(test::source_dir()) + "/" + file.path, .bytes = {}}};
        asked.budget = {BudgetSpec::Kind::Percent, 60.0};
        if (is_qwen()) asked.detail.max_tokens = 64;  // of a frame: it is the frames that count
        const Answer answer = ask(asked);
        ASSERT_THAT(answer.clips, SizeIs(1));
        EXPECT_EQ(answer.clips[0].frames, frames_of(file, GetParam()));
        EXPECT_LT(answer.tokens.final, answer.tokens.visual);
    }

    std::string prefix_;
    std::unique_ptr<Engine> engine_;
};

TEST_P(Clips, SaysWhatWasSeen) {
    AskRequest asked = request();
    asked.vanilla = true;
    asked.want_pictures = true;
    const Answer answer = ask(asked);
    ASSERT_THAT(answer.clips, SizeIs(1));
    const ClipReport& clip = answer.clips.front();
    EXPECT_THAT(clip.frames, ElementsAre(0U, 1U, 2U, 3U));
    EXPECT_THAT(clip.seconds, ElementsAre(0.0, 0.5, 1.0, 1.5));
    EXPECT_EQ(clip.n_frames, kFrames);
    EXPECT_DOUBLE_EQ(clip.fps, 2.0);
    EXPECT_DOUBLE_EQ(clip.duration_s, 2.0);
    EXPECT_THAT(clip.pictures, SizeIs(kFrames));
    EXPECT_EQ(clip.pictures[2]->width, static_cast<int>(kWidth));
    ASSERT_THAT(answer.layouts, SizeIs(1));
    EXPECT_EQ(answer.layouts[0].n_steps, GetParam().n_steps);
    EXPECT_EQ(answer.tokens.visual, GetParam().n_steps * GetParam().n_tokens);
    EXPECT_EQ(answer.tokens.entering, answer.tokens.visual);
    EXPECT_EQ(answer.layouts[0].regions.back().step, GetParam().n_steps - 1);
}

TEST_P(Clips, KeepingEverythingIsVanillaToTheBit) {
    AskRequest asked = request();
    asked.vanilla = true;
    const Answer vanilla = ask(asked);
    asked.vanilla = false;
    asked.use_fusion = false;
    asked.method = "clasp";
    const std::size_t n = vanilla.tokens.visual;
    asked.forced_stages = {{1, n}, {2, n}, {4, n}};
    const Answer kept = ask(asked);
    EXPECT_EQ(kept.logits, vanilla.logits);
    EXPECT_EQ(kept.text, vanilla.text);
    EXPECT_EQ(kept.tokens.final, n);
}

TEST_P(Clips, OneBudgetIsSharedByAllSteps) {
    for (const char* method : {"clasp", "clasp+", "random", "uniform", "fastv", "divprune"}) {
        AskRequest asked = request();
        asked.method = method;
        asked.budget = {BudgetSpec::Kind::Percent, 50.0};
        const auto answer = engine_->ask(asked);
        ASSERT_TRUE(answer.ok()) << method << ": " << answer.status().message();
        const double n = static_cast<double>(answer->tokens.visual);
        EXPECT_NEAR(answer->tokens.average, 0.5 * n, 0.06 * n + 1.0) << method;
        ASSERT_FALSE(answer->stages.empty()) << method;
        EXPECT_LT(answer->stages.back().kept.back(), answer->tokens.visual);
    }
}

// Which tokens stay depends on all frames together, and the order of the frames matters.
TEST_P(Clips, FramesComeInTheirOrder) {
    AskRequest asked = request();
    asked.vanilla = true;
    const Answer forward = ask(asked);
    ImageSource list;
    for (std::size_t i = 0; i < kFrames; ++i) list.frames.push_back(frame(i));
    asked.images = {list};
    EXPECT_EQ(ask(asked).logits, forward.logits) << "a list is a folder";
    std::reverse(asked.images[0].frames.begin(), asked.images[0].frames.end());
    EXPECT_NE(ask(asked).logits, forward.logits);
}

TEST_P(Clips, AnotherQuestionDoesNotEncodeAgain) {
    AskRequest asked = request();
    asked.vanilla = true;
    EXPECT_EQ(ask(asked).cache_hit, false);
    asked.question = "who sits there";
    const Answer again = ask(asked);
    EXPECT_EQ(again.cache_hit, true);
    EXPECT_EQ(again.timings.encode_ms, 0.0);
    if (is(kVideo)) return;  // it sees no other number of frames
    asked.clip.n_frames = 3;
    EXPECT_THAT(ask(asked).clips[0].frames, SizeIs(3));
}

TEST_P(Clips, AnimatedPicturesAreClips) {
    AskRequest asked = request();
    asked.images = {
        {.path = std::string(test::source_dir()) + "/tests/data/images/anim_tiny.gif", .bytes = {}}};
    const std::size_t n_frames = is(kVideo) ? kFrames : 2;
    asked.clip.n_frames = n_frames;
    asked.vanilla = true;
    const Answer answer = ask(asked);
    ASSERT_THAT(answer.clips, SizeIs(1));
    EXPECT_EQ(answer.clips[0].n_frames, 24U);
    EXPECT_THAT(answer.clips[0].frames, SizeIs(n_frames));
    EXPECT_NEAR(answer.clips[0].duration_s, 24 * 0.07, 1e-9);
    asked.clip = {.n_frames = {}, .fps = {}, .start_s = 0.5, .end_s = 1.0};
    const Answer part = ask(asked);
    for (const double at : part.clips[0].seconds) EXPECT_TRUE(at >= 0.5 && at <= 1.0) << at;
}

// Animations, drawn and taken, sampled as each family's authors do; then containers.
TEST_P(Clips, AnimationsAreSeenByTheRuleOfTheFamily) {
    for (const SeenOf& file : seen_animations()) expect_seen(file);
}
TEST_P(Clips, VideoFilesAreSeenByTheRuleOfTheFamily) {
    CLASP_NEEDS_FFMPEG();
    for (const SeenOf& file : seen_video_files()) expect_seen(file);
}

// As one that was not fetched to its end.
TEST_P(Clips, FilmsThatAreCutOffAreRefused) {
    CLASP_NEEDS_FFMPEG();
    std::ifstream film(std::string(test::source_dir()) + "/" + kFilm, std::ios::binary);
    std::string bytes(60000, '\0');
    ASSERT_TRUE(film.read(bytes.data(), static_cast<std::streamsize>(bytes.size())));
    std::ofstream(prefix_ + "/cut.mp4", std::ios::binary) << bytes;
    AskRequest asked = request();
    asked.images = {{.path = prefix_ + "/cut.mp4", .bytes = {}}};
    EXPECT_THAT(error_of(asked), AllOf(HasSubstr("cut.mp4: the clip cannot be opened, its index is missing"),
                                       Not(HasSubstr("\n"))));
}

TEST_P(Clips, SaysWhatCannotBe) {
    AskRequest asked = request();
    asked.clip.n_frames = 5;
    EXPECT_THAT(error_of(asked), is(kVideo) ? HasSubstr("4 frames of every clip, and no other number; 5 are")
                                            : HasSubstr("5 frames are wanted, and there are 4"));
    asked = request();
    asked.images = {{.path = frame(0), .bytes = {}}};
    asked.clip.fps = 1.0;
    EXPECT_THAT(error_of(asked), HasSubstr("there is no clip, only pictures"));
    if (is(kVideo)) return;  // of any number of frames it sees four
    asked = request();
    asked.images[0].frames.assign(700, frame(0));
    asked.images[0].path.clear();
    EXPECT_THAT(error_of(asked),
                is(kInternvl) ? HasSubstr("700 frames make a prompt of") : HasSubstr("700 frames"));
}

INSTANTIATE_TEST_SUITE_P(Families, Clips,
                         testing::Values(kLlava, kNext, kInternvl, kQwen2, kQwen25, kQwen3, kVideo,
                                         kVideoPort),
                         [](const auto& chosen) {
                             std::string name = chosen.param.name;
                             std::replace_if(
                                 name.begin(), name.end(), [](char c) { return c == '.' || c == '-'; }, '_');
                             return name;
                         });

// A model that knows pictures alone sees the frames of a clip as so many of them.
class PictureClips : public Clips {};
TEST_P(PictureClips, FramesAreSeveralPictures) {
    AskRequest asked = request();
    asked.vanilla = true;
    const Answer clip = ask(asked);
    asked.images.clear();
    for (std::size_t i = 0; i < kFrames; ++i) asked.images.push_back({.path = frame(i), .bytes = {}});
    const Answer pictures = ask(asked);
    EXPECT_EQ(clip.logits, pictures.logits);
    EXPECT_EQ(clip.tokens.text, pictures.tokens.text);
    EXPECT_THAT(pictures.clips, SizeIs(0));
}
INSTANTIATE_TEST_SUITE_P(Families, PictureClips, testing::Values(kLlava),
                         [](const auto&) { return "llava"; });

// A context that has no room for all frames of the rule.
class ShortContextClips : public Clips {
   protected:
    std::int32_t context_length() const override { return is_qwen() ? 400 : 720; }
};
TEST_P(ShortContextClips, AsManyFramesAreSeenAsFit) {
    AskRequest asked = request();
    asked.vanilla = true;
    asked.images = {
        {.path = std::string(test::source_dir()) + "/tests/data/images/anim_tiny.gif", .bytes = {}}};
    const Answer answer = ask(asked);
    ASSERT_THAT(answer.clips, SizeIs(1));
    const std::size_t n_seen = answer.clips[0].frames.size();
    EXPECT_GT(n_seen, 1U);
    EXPECT_GT(answer.clips[0].frames.back(), 15U) << "spread over all 24 as the rule says";
    EXPECT_THAT(answer.notes,
                Contains(AllOf(HasSubstr("seen at " + std::to_string(n_seen) + " frames instead of"),
                               HasSubstr("the model's context is"))));
    const std::size_t n_prompt = answer.tokens.visual + answer.tokens.text;
    const std::size_t room = static_cast<std::size_t>(context_length()) - asked.generation.max_tokens;
    EXPECT_LE(n_prompt, room);
    EXPECT_GT(n_prompt + GetParam().n_tokens, room) << "there was room for one more";

    asked.clip.n_frames = 8;
    EXPECT_THAT(error_of(asked), AllOf(HasSubstr("8 frames make a prompt of"),
                                       HasSubstr(is_qwen() ? "; ask for fewer frames, or for smaller ones"
                                                           : "; ask for fewer frames")));
    asked.clip = {};
    asked.images[0] = {.path = prefix_ + "/frames", .bytes = {}};
    if (is_qwen()) {
        EXPECT_THAT(error_of(asked), HasSubstr("4 frames make a prompt of")) << "all were given";
    }
}
INSTANTIATE_TEST_SUITE_P(Families, ShortContextClips, testing::Values(kLlava, kQwen25),
                         [](const auto& chosen) {
                             return std::string(chosen.param.name).substr(0, 5) +
                                    std::to_string(chosen.index);
                         });

// Where the number of frames is fixed, nobody is told to ask for fewer, but for what can be done.
class FixedClips : public Clips {
   protected:
    std::int32_t context_length() const override { return 400; }
};
TEST_P(FixedClips, AreNotAskedToHaveFewerFrames) {
    AskRequest asked = request();
    asked.vanilla = true;
    EXPECT_THAT(error_of(asked), AllOf(HasSubstr("4 frames make a prompt of"),
                                       HasSubstr("the model sees 4 frames of every clip: ask about fewer "
                                                 "clips at once, or with a method that drops tokens before"),
                                       Not(HasSubstr("fewer frames"))));
    asked.vanilla = false;
    asked.method = "divprune";
    asked.budget = {BudgetSpec::Kind::Tokens, 60.0};
    EXPECT_EQ(ask(asked).tokens.entering, 60U);
}
INSTANTIATE_TEST_SUITE_P(Families, FixedClips, testing::Values(kVideo),
                         [](const auto&) { return "videollava"; });

// ---- Video-LLaVA ----

class VideoClips : public Clips {};

// A clip's tokens follow each other without a word between them, and a picture has none of its class row.
TEST_P(VideoClips, ClipsAndPicturesShareARequest) {
    AskRequest asked = request();
    asked.vanilla = true;
    const Answer clip = ask(asked);
    asked.images.push_back({.path = frame(1), .bytes = {}});
    asked.images.push_back({.path = frame(2), .bytes = {}});
    const Answer all = ask(asked);
    ASSERT_THAT(all.layouts, SizeIs(3));
    EXPECT_EQ(all.tokens.visual, 4U * 65U + 2U * 64U);
    EXPECT_EQ(clip.tokens.entering, 4U * 65U);
    asked.images.resize(1);
    asked.images.front() = {.path = frame(1), .bytes = {}};
    EXPECT_EQ(clip.tokens.text, ask(asked).tokens.text) << "frames bring no words";
    AskRequest pruned = request();
    pruned.images = {{.path = frame(1), .bytes = {}}, pruned.images.front()};
    pruned.method = "clasp";
    pruned.forced_stages = {{2, 100}, {4, 40}};
    const Answer kept = ask(pruned);
    EXPECT_EQ(kept.stages.back().kept.size(), 40U);
    EXPECT_LT(kept.stages.back().kept.front(), 64U) << "of the picture";
    EXPECT_GE(kept.stages.back().kept.back(), 64U) << "of the clip";
}

// Class rows are tokens like any other: methods that rank by class attention see their attention to
// themselves.
TEST_P(VideoClips, MethodsChooseAmongClassRowsToo) {
    std::size_t n_kept = 0;  // class rows, by all methods
    std::size_t n_dropped = 0;
    for (const char* method :
         {"clasp", "clasp+", "random", "uniform", "attention", "fastv", "sparsevlm", "pdrop", "dart",
          "divprune", "cdpruner", "fastervlm", "hired", "holov", "vispruner"}) {
        SCOPED_TRACE(method);
        AskRequest asked = request();
        asked.method = method;
        asked.budget = {BudgetSpec::Kind::Percent, 60.0};
        asked.generation.max_tokens = 1;
        const auto answer = engine_->ask(asked);
        ASSERT_TRUE(answer.ok()) << answer.status().message();
        const auto& kept = answer->stages.back().kept;
        EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
        EXPECT_LT(kept.back(), 260U);
        EXPECT_EQ(answer->stages.back().n_class_tokens, 0U) << "none beside the picture's tokens";
        for (const TokenIndex row : {0U, 65U, 130U, 195U}) {
            ++(std::binary_search(kept.begin(), kept.end(), row) ? n_kept : n_dropped);
        }
    }
    EXPECT_GT(n_kept, 0U);
    EXPECT_GT(n_dropped, 0U);
}

// The frames are pieces with a class token each, as the tiles of LLaVA-NeXT are.
TEST_P(VideoClips, MethodsDoWhatTheTableSaysOfTiles) {
    const test::PageTable matrix = test::page_table("docs/methods.md", "| method | LLaVA-1.5 |");
    const test::PageTable reasons = test::page_table("docs/methods.md", "| word | what the program says |");
    ASSERT_FALSE(matrix.empty() || reasons.empty());
    ASSERT_EQ(matrix.front()[2], "LLaVA-NeXT");
    for (std::size_t row = 1; row < matrix.size(); ++row) {
        SCOPED_TRACE(matrix[row][0]);
        AskRequest asked = request();
        asked.method = matrix[row][0];
        asked.budget = {BudgetSpec::Kind::Percent, 60.0};
        asked.generation.max_tokens = 1;
        const auto answer = engine_->ask(asked);
        EXPECT_EQ(answer.ok(), matrix[row][2] == "runs") << answer.status().message();
        for (const std::vector<std::string>& reason : reasons) {
            if (answer.ok() || reason[0] != matrix[row][2]) continue;
            EXPECT_THAT(answer.status().message(), HasSubstr(reason[1]));
        }
    }
}

TEST_P(VideoClips, MomentsMayHaveEvenShares) {
    AskRequest asked = request();
    asked.method = "clasp";
    asked.split_time = "even";
    asked.forced_stages = {{2, 80}, {4, 20}};
    const Answer answer = ask(asked);
    std::vector<std::size_t> per_frame(4, 0);
    for (const TokenIndex token : answer.stages.back().kept) ++per_frame[token / 65];
    EXPECT_THAT(per_frame, Each(5U));
}

TEST_P(VideoClips, FramesAreRememberedAsTheyWereSeen) {
    AskRequest asked = request();
    asked.method = "clasp";
    asked.forced_stages = {{2, 30}};
    const Answer fresh = ask(asked);
    const Answer again = ask(asked);
    EXPECT_EQ(again.cache_hit, true);
    EXPECT_EQ(again.logits, fresh.logits);
    // The same four frames in another order are other frames to the authors' model, and new pieces; to the
    // port each is what it was.
    ImageSource list;
    for (const std::size_t i : {3U, 2U, 1U, 0U}) list.frames.push_back(frame(i));
    asked.images = {list};
    EXPECT_EQ(ask(asked).cache_hit, is(kVideoPort));
}

TEST_P(VideoClips, ShortClipsShowFramesAgain) {
    AskRequest asked = request();
    asked.vanilla = true;
    asked.images = {
        {.path = std::string(test::source_dir()) + "/tests/data/images/anim_tiny.gif", .bytes = {}}};
    asked.clip.end_s = 0.1;  // two frames
    const Answer answer = ask(asked);
    EXPECT_EQ(answer.tokens.visual, 4U * 65U);
    EXPECT_THAT(answer.clips[0].frames,
                is(kVideo) ? ElementsAre(0U, 0U, 0U, 1U) : ElementsAre(0U, 0U, 1U, 1U));
}

TEST_P(VideoClips, LlamaCppHasNoNumbersOfIt) {
    AskRequest asked = request();
    asked.compat = Compat::LlamaCpp;
    EXPECT_THAT(error_of(asked), HasSubstr("llama.cpp does not know the vision tower videollava"));
}
INSTANTIATE_TEST_SUITE_P(Families, VideoClips, testing::Values(kVideo, kVideoPort), [](const auto& chosen) {
    return chosen.index == 0 ? std::string("authors") : std::string("port");
});

// Where tokens of a clip stand in the decoder.
class ClipPositions : public Clips {
   protected:
    // The visual parts of a clip of n frames at 2 a second, each of 2 rows of 3 tokens.
    void arrange(std::size_t n) {
        auto compute = model::Compute::create({.n_threads = 1, .use_gpu = false});
        auto vision = model::VisionModel::load(prefix_ + "/mmproj.gguf", {}, *compute);
        auto text = model::TextModel::load(prefix_ + "/text.gguf", *compute);
        ASSERT_TRUE(vision.ok() && text.ok());
        const int side = is(kQwen3) ? 32 : 28;
        model::ClipFrames clip = {{3 * side, 2 * side}, {}, 2.0};
        for (std::size_t i = 0; i < n; ++i) clip.seconds.push_back(0.5 * static_cast<double>(i));
        model::PlanOptions options;
        options.detail = {.min_tokens = 6, .max_tokens = 6};
        auto plan = (*vision)->plan_clip(clip, options);
        ASSERT_TRUE(plan.ok()) << plan.status().message();
        image_.plan = *plan;
        const std::size_t n_tokens = plan->layout.n_tokens();
        image_.values.assign(n_tokens * (*vision)->info().output_width, 0.0F);
        if (!(*vision)->info().branch_layers.empty()) image_.additions.assign(2 * image_.values.size(), 0.0F);
        for (std::size_t i = 0; i < n_tokens; ++i) image_.places.push_back(static_cast<TokenIndex>(i));
        vision_ = *vision;
        text_ = *text;
    }
    engine::ArrangedImage arranged() {
        std::int32_t next_line = 0;
        auto result = engine::arrange_image(image_, true, *vision_, *text_, next_line);
        EXPECT_TRUE(result.ok()) << result.status().message();
        return result.ok() ? std::move(*result) : engine::ArrangedImage();
    }
    engine::SeenImage image_;
    std::shared_ptr<const model::VisionModel> vision_;
    std::shared_ptr<const model::TextModel> text_;
};

// 4 steps of 2 x 3: t 0 2 4 6, rows and columns from 0 in each, 7 positions in all.
TEST_P(ClipPositions, StepsShareOneStart) {
    arrange(8);
    const engine::ArrangedImage result = arranged();
    ASSERT_THAT(result.parts, SizeIs(3));
    const engine::PromptPart& part = result.parts[1];
    ASSERT_THAT(part.offsets, SizeIs(24));
    const std::int32_t rate = is(kQwen25) ? 2 : 1;
    for (std::int32_t i = 0; i < 24; ++i) {
        EXPECT_EQ(part.offsets[static_cast<std::size_t>(i)],
                  (model::Position{{i / 6 * rate, i % 6 / 3, i % 3, 0}}))
            << i;
    }
    EXPECT_EQ(part.n_positions, is(kQwen25) ? 7 : 4);
    // What is lost takes its positions all the same.
    image_.places = {7};
    image_.values.resize(image_.values.size() / 24);
    const engine::ArrangedImage rest = arranged();
    EXPECT_EQ(rest.parts[1].offsets[0], (model::Position{{rate, 0, 1, 0}}));
    EXPECT_EQ(rest.parts[1].n_positions, is(kQwen25) ? 7 : 4);
}
INSTANTIATE_TEST_SUITE_P(Families, ClipPositions, testing::Values(kQwen2, kQwen25), [](const auto& chosen) {
    return std::string(chosen.param.name).substr(0, 5) + std::to_string(chosen.index);
});

// Each step of Qwen3-VL is a picture of its own behind its time stamp.
class StampedClips : public ClipPositions {};
TEST_P(StampedClips, StepsStandBehindTheirTimes) {
    arrange(4);
    const engine::ArrangedImage result = arranged();
    ASSERT_THAT(result.parts, SizeIs(5));
    for (const std::size_t i : {1U, 3U}) {
        EXPECT_EQ(result.parts[i].n_positions, 3);
        EXPECT_EQ(result.parts[i].offsets[4], (model::Position{{0, 1, 1, 0}}));
        EXPECT_TRUE(result.parts[i - 1].is_text_of_image);
    }
    // A step of which nothing is left leaves its positions.
    const std::size_t width = vision_->info().output_width;
    image_.places = {8};
    image_.values.resize(width);
    image_.additions.resize(2 * width);
    const engine::ArrangedImage rest = arranged();
    ASSERT_THAT(rest.parts, SizeIs(4));
    EXPECT_EQ(rest.parts[1].n_lost_before, 3);
    EXPECT_EQ(rest.parts[2].offsets[0], (model::Position{{0, 0, 2, 0}}));
}
INSTANTIATE_TEST_SUITE_P(Families, StampedClips, testing::Values(kQwen3),
                         [](const auto&) { return "qwen3"; });

}  // namespace
}  // namespace clasp
