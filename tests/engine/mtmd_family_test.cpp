// A vision file that has no tower here and that libmtmd reads: Janus-Pro's. Whole requests against libmtmd
// and libllama, and what must hold whatever encodes.
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

TEST_F(MtmdFamily, AnswersAgreeWithLibmtmdAndLibllama) {
    AskRequest vanilla = request();
    vanilla.vanilla = true;
    vanilla.generation.max_tokens = 32;
    const Answer answer = ask(vanilla);
    EXPECT_EQ(answer.tokens.visual, 64U);
    EXPECT_THAT(answer.notes, Contains(HasSubstr("libmtmd encodes pictures")));

    const auto text = model::TextModel::load(
        text_path(), *model::Compute::create({.n_threads = 1, .use_gpu = false}), {.repack = false});
    ASSERT_TRUE(text.ok());
    test::MtmdOracle oracle(vision_path(), 1, false, (*text)->handle());
    ASSERT_TRUE(oracle.ok());
    const auto image =
        decode_image({reinterpret_cast<const std::uint8_t*>(picture_.data()), picture_.size()});
    ASSERT_TRUE(image.ok());
    // The text model's usual template, that of LLaVA-1.5.
    const std::string prompt =
        "A chat between a curious human and an artificial intelligence assistant. The assistant gives "
        "helpful, detailed, and polite answers to the human's questions. USER: " +
        std::string(mtmd_default_marker()) + vanilla.question + " ASSISTANT:";
    const auto chunks = oracle.see_prompt(prompt, std::span(&*image, 1), 96);
    ASSERT_FALSE(chunks.empty());
    std::vector<engine::PromptPart> parts;
    for (const auto& chunk : chunks) parts.push_back({.tokens = chunk.text, .embeddings = chunk.rows});
    test::LlamaOracle decoder(**text, 1024);
    const std::vector<float> logits = decoder.prefill(parts);
    ASSERT_FALSE(logits.empty());
    EXPECT_LT(test::relative_distance(answer.logits, logits), 1e-4);
    const test::GreedyAnswer expected = test::greedy_answer(decoder, **text, logits, 32);
    EXPECT_GT(expected.n_tokens, 8U);
    EXPECT_EQ(answer.generated, expected.n_tokens);
    EXPECT_EQ(answer.text, expected.text);
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
    const auto loaded =
        Engine::load({.model = text_path(), .mmproj = vision_path(), .vision_weights = "q8_0"});
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
