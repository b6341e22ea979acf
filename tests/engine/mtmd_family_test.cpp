// Vision files that have no tower here and that libmtmd reads: Janus-Pro's, Reka Edge's, Step3-VL's. Whole
// requests against libmtmd and libllama, and what must hold whatever encodes. And whole requests of LLaVA,
// whose tower is ours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <type_traits>
#include <vector>

#include "clasp/engine.h"
#include "clasp/inspect.h"
#include "model/mtmd_library.h"
#include "model/vision_model.h"
#include "support/decoder_case.h"
#include "support/family_files.h"
#include "support/greedy_answer.h"
#include "support/llama_oracle.h"
#include "support/mtmd_oracle.h"
#include "support/vision_fixture.h"

namespace clasp {
namespace {

using test::picture;
using testing::Contains;
using testing::HasSubstr;

// What is declared for it is what its header has.
using model::MtmdParameters;
static_assert(sizeof(MtmdParameters) == sizeof(mtmd_context_params));
static_assert(offsetof(MtmdParameters, device) == offsetof(mtmd_context_params, device));
static_assert(offsetof(MtmdParameters, n_threads) == offsetof(mtmd_context_params, n_threads));
static_assert(offsetof(MtmdParameters, media_marker) == offsetof(mtmd_context_params, media_marker));
static_assert(offsetof(MtmdParameters, flash_attn_type) == offsetof(mtmd_context_params, flash_attn_type));
static_assert(offsetof(MtmdParameters, warmup) == offsetof(mtmd_context_params, warmup));
static_assert(offsetof(MtmdParameters, image_max_tokens) == offsetof(mtmd_context_params, image_max_tokens));
static_assert(offsetof(MtmdParameters, cb_eval) == offsetof(mtmd_context_params, cb_eval));
static_assert(offsetof(MtmdParameters, batch_max_tokens) == offsetof(mtmd_context_params, batch_max_tokens));
static_assert(offsetof(MtmdParameters, progress_callback_user_data) ==
              offsetof(mtmd_context_params, progress_callback_user_data));
static_assert(sizeof(model::MtmdPart) == sizeof(mtmd_input_part));
static_assert(offsetof(model::MtmdPart, bitmap) == offsetof(mtmd_input_part, bitmap));
static_assert(static_cast<int>(model::MtmdChunkType::Text) == MTMD_INPUT_CHUNK_TYPE_TEXT);
static_assert(static_cast<int>(model::MtmdChunkType::Image) == MTMD_INPUT_CHUNK_TYPE_IMAGE);

class MtmdFamily : public testing::Test {
   protected:
    void SetUp() override {
        const auto library = model::mtmd_library();
        // A program that contains llama.cpp instead of loading it has nothing to offer to libraries.
        if (!library.ok() && library.status().message().find("undefined symbol") != std::string::npos) {
            GTEST_SKIP() << library.status().message();
        }
        ASSERT_TRUE(library.ok()) << library.status().message();
        files_ = std::make_unique<test::FamilyFiles>(test::family_model("Libmtmd"));
        engine_ = files_->load({.kernels = "ggml"});  // numbers are compared with libllama's
        ASSERT_NE(engine_, nullptr);
    }
    [[nodiscard]] std::string text_path() const { return files_->text(); }
    [[nodiscard]] std::string vision_path() const { return files_->vision(); }

    AskRequest request() const {
        AskRequest request = test::question_about(picture_);
        request.question = "how many cups and how many plates are on the table in the middle?";
        request.generation.max_tokens = 4;
        return request;
    }
    Answer ask(const AskRequest& request) const { return test::answer_of(*engine_, request); }

    std::unique_ptr<test::FamilyFiles> files_;
    std::unique_ptr<Engine> engine_;
    std::string picture_ = picture(1, 120, 90);
};

// The text of a prompt before and behind the mark of its picture and the question.
struct PromptFrame {
    std::string before;
    std::string after;
    std::string between = {};
};

const PromptFrame kVicunaFrame = {
    "A chat between a curious human and an artificial intelligence assistant. The assistant gives helpful, "
    "detailed, and polite answers to the human's questions. USER: ",
    " ASSISTANT:"};
const PromptFrame kChatmlFrame = {"<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n"};

// The logits of an answer and its words are those of libmtmd and libllama over the same files.
void expect_answer_of_llama_cpp(const Answer& answer, const test::FamilyFiles& files, std::size_t width,
                                const PromptFrame& frame, const AskRequest& request,
                                double tolerance = 1e-4) {
    const auto text = model::TextModel::load(
        files.text(), *model::Compute::create({.n_threads = 1, .use_gpu = false}), {.repack = false});
    ASSERT_TRUE(text.ok());
    test::MtmdOracle oracle(files.vision(), 1, false, (*text)->handle());
    ASSERT_TRUE(oracle.ok());
    const std::string_view bytes = request.images.front().bytes;
    const auto image = decode_image({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    ASSERT_TRUE(image.ok());
    const std::string prompt =
        frame.before + mtmd_default_marker() + frame.between + request.question + frame.after;
    const auto chunks = oracle.see_prompt(prompt, std::span(&*image, 1), width);
    ASSERT_FALSE(chunks.empty());
    std::vector<engine::PromptPart> parts;
    std::size_t n_visual = 0;
    for (const auto& chunk : chunks) {
        parts.push_back({.tokens = chunk.text, .embeddings = chunk.rows});
        n_visual += chunk.rows.size() / width;
    }
    EXPECT_EQ(answer.tokens.visual, n_visual);
    test::LlamaOracle decoder(**text, 1024);
    const std::vector<float> logits = decoder.prefill(parts);
    ASSERT_FALSE(logits.empty());
    EXPECT_LT(test::relative_distance(answer.logits, logits), tolerance);
    const test::GreedyAnswer expected =
        test::greedy_answer(decoder, **text, logits, request.generation.max_tokens);
    EXPECT_EQ(answer.generated, expected.n_tokens);
    EXPECT_EQ(answer.text, expected.text);
}

TEST_F(MtmdFamily, AnswersAgreeWithLibmtmdAndLibllama) {
    AskRequest vanilla = request();
    vanilla.vanilla = true;
    vanilla.generation.max_tokens = 32;
    const Answer answer = ask(vanilla);
    EXPECT_EQ(answer.tokens.visual, 64U);
    EXPECT_GT(answer.generated, 8U);
    EXPECT_THAT(answer.notes, Contains(HasSubstr("libmtmd encodes pictures")));
    expect_answer_of_llama_cpp(answer, *files_, 96, kVicunaFrame, vanilla);
}

// Reka Edge, whose decoder is Llama's.
TEST_F(MtmdFamily, AnswersOfYasa2Agree) {
    const test::FamilyFiles files("yasa2", test::family_model("Libmtmd").text,
                                  test::random_mmproj(test::mtmd_family_vision("yasa2")));
    const auto engine = files.load({.kernels = "ggml"});
    ASSERT_NE(engine, nullptr);
    AskRequest vanilla = request();
    vanilla.vanilla = true;
    vanilla.generation.max_tokens = 8;
    const Answer answer = test::answer_of(*engine, vanilla);
    EXPECT_EQ(answer.tokens.visual, 64U);
    EXPECT_EQ(answer.layouts[0].regions[0].grid, (Grid{8, 8}));
    EXPECT_TRUE(answer.layouts[0].is_placed);
    expect_answer_of_llama_cpp(answer, files, 96, kVicunaFrame, vanilla);
}

// Step3-VL, whose decoder is Qwen3's: a small picture is one piece, a larger one has tiles before it.
TEST_F(MtmdFamily, AnswersOfStep3VlAgree) {
    test::RandomLlama text = test::random_architecture("qwen3");
    text.n_layers = 8;
    text.adds_space = false;
    text.control_tokens = {"<|im_start|>",  "<|im_end|>",  "<im_start>",     "<im_end>",
                           "<patch_start>", "<patch_end>", "<patch_newline>"};
    test::MmprojSpec vision = test::mtmd_family_vision("step3vl");
    vision.output_width = static_cast<std::size_t>(text.width);
    const test::FamilyFiles files("step3vl", text, test::random_mmproj(vision));
    const auto engine = files.load({.kernels = "ggml"});
    ASSERT_NE(engine, nullptr);
    struct Case {
        PixelSize picture;
        std::size_t n_tokens;
    };
    for (const Case& c : {Case{{160, 120}, 9}, Case{{240, 180}, 81 + 9}}) {
        const std::string bytes = picture(3, c.picture);
        AskRequest vanilla = request();
        vanilla.images = {{{}, bytes}};
        vanilla.vanilla = true;
        vanilla.generation.max_tokens = 8;
        const Answer answer = test::answer_of(*engine, vanilla);
        EXPECT_EQ(answer.tokens.visual, c.n_tokens);
        const bool is_one = c.n_tokens == 9;
        EXPECT_EQ(answer.layouts[0].is_placed, is_one);
        if (is_one) {
            EXPECT_EQ(answer.layouts[0].regions[0].grid, (Grid{3, 3}));
        }
        expect_answer_of_llama_cpp(answer, files, vision.output_width, kChatmlFrame, vanilla);
    }
}

// LLaVA-1.5 and LLaVA-NeXT with llama.cpp's numbers: pixels, tower, tiles, prompt and decoder.
TEST(LlavaMtmd, AnswersAgree) {
    for (const char* name : {"Llava15", "LlavaNext"}) {
        SCOPED_TRACE(name);
        const test::FamilyFiles files(test::family_model(name));
        const auto engine = files.load({.vision_weights = "file", .kernels = "ggml"});
        ASSERT_NE(engine, nullptr);
        for (const PixelSize size : {PixelSize{120, 90}, {40, 132}}) {
            const std::string bytes = picture(4, size);
            AskRequest request = test::question_about(bytes);
            request.question = "how many cups and how many plates are on the table in the middle?";
            request.vanilla = true;
            request.compat = Compat::LlamaCpp;
            request.generation.max_tokens = 32;
            const PromptFrame frame = {kVicunaFrame.before, kVicunaFrame.after, "\n"};
            // Small batches of libllama's, one for each tile, work in half precision.
            expect_answer_of_llama_cpp(test::answer_of(*engine, request), files, 96, frame, request, 2e-2);
        }
    }
}

TEST_F(MtmdFamily, TokensArePrunedLikeAnyOther) {
    AskRequest none = request();
    none.budget = {BudgetSpec::Kind::None, 0};
    const Answer without = ask(none);
    AskRequest all = request();
    all.method = "clasp";
    all.forced_stages = {{1, 200}, {3, 200}};
    EXPECT_EQ(ask(all).logits, without.logits);
    AskRequest vanilla = request();
    vanilla.vanilla = true;
    EXPECT_EQ(ask(vanilla).logits, without.logits) << "there is nothing to mix";
    AskRequest pruned = request();
    pruned.budget = {BudgetSpec::Kind::Percent, 30};
    const Answer few = ask(pruned);
    EXPECT_LT(few.tokens.average, 20.0);
    EXPECT_NE(few.logits, without.logits);
    EXPECT_EQ(few.layouts[0].regions[0].grid, (Grid{8, 8}));
    EXPECT_TRUE(few.layouts[0].is_placed);
    AskRequest two = request();
    const std::string other = picture(2, 30, 77);
    two.images.push_back({{}, other});
    EXPECT_EQ(ask(two).tokens.visual, 128U);
}

// Where the tokens of such a picture lie is not known.
TEST_F(MtmdFamily, PicturesOfAnyShapeHaveTokensWithoutPlaces) {
    const std::string path = vision_path() + "-phi4.gguf";
    std::ofstream(path, std::ios::binary) << test::random_mmproj(test::mtmd_family_vision("phi4"));
    const auto engine = Engine::load({.model = text_path(), .mmproj = path, .n_threads = 1});
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    AskRequest none = request();
    none.budget = {BudgetSpec::Kind::None, 0};
    const auto without = (*engine)->ask(none);
    ASSERT_TRUE(without.ok()) << without.status().message();
    EXPECT_FALSE(without->layouts[0].is_placed);
    AskRequest all = request();
    all.method = "clasp";
    all.forced_stages = {{2, 500}};
    EXPECT_EQ((*engine)->ask(all)->logits, without->logits);
    AskRequest grid = request();
    grid.method = "uniform-grid";
    grid.budget = {BudgetSpec::Kind::Percent, 50};
    EXPECT_THAT((*engine)->ask(grid).status().message(), HasSubstr("does not say where they lie"));
    AskRequest wide = none;
    const std::string other = picture(2, 160, 40);
    wide.images = {{{}, other}};
    const auto answer = (*engine)->ask(wide);
    ASSERT_TRUE(answer.ok()) << answer.status().message();
    EXPECT_NE(answer->tokens.visual, without->tokens.visual);
    std::filesystem::remove(path);
}

TEST_F(MtmdFamily, SaysWhatItIs) {
    const auto info = inspect_gguf(vision_path());
    ASSERT_TRUE(info.ok() && info->vision);
    EXPECT_EQ(info->vision->family, "libmtmd");
    EXPECT_EQ(info->vision->output_width, 96U);
    EXPECT_THAT(info->vision->note, HasSubstr("no vision layers are mixed"));
    EXPECT_TRUE(info->is_supported);
    EXPECT_THAT(inspect_picture(vision_path(), {64, 64}).status().message(),
                HasSubstr("known only when both files of the model are loaded"));
    const auto loaded = Engine::load({.model = text_path(), .mmproj = vision_path(), .vision_weights = "q8"});
    ASSERT_FALSE(loaded.ok());
    EXPECT_THAT(loaded.status().message(), HasSubstr("keeps the vision weights as the file has them"));
}

TEST(MtmdLibrary, ThatIsNotThereIsNamedWithTheCommandThatBuildsIt) {
    const auto none = model::load_mtmd("/nowhere/mtmd.so");
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.status().code(), Code::Unavailable);
    EXPECT_THAT(none.status().message(), HasSubstr("scripts/build-llama --mtmd builds it"));
    EXPECT_EQ(none.status().message().find('\n'), std::string::npos);
}

TEST(MtmdTowerFile, MessagesNameTheProblem) {
    std::string file = test::random_mmproj(test::mtmd_family_vision("janus_pro"));
    const std::size_t at = file.find("mm.1.bias");
    ASSERT_NE(at, std::string::npos);
    file[at] = 'X';
    EXPECT_THAT(model::inspect_vision(test::bytes_of(file)).status().message(),
                HasSubstr("tensor mm.1.bias is missing"));
}

}  // namespace
}  // namespace clasp
