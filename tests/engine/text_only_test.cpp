// Questions in text alone, to a model with its vision file and to one without.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "clasp/engine.h"
#include "clasp/inspect.h"
#include "engine_fixture.h"

namespace clasp {
namespace {

using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class TextOnlyTest : public EngineTest {
   protected:
    static AskRequest text_request() {
        AskRequest request;
        request.question = "What is the capital of France?";
        request.generation.max_tokens = 4;
        request.want_logits = true;
        return request;
    }
    static std::unique_ptr<Engine> load_text_alone() {
        auto engine = Engine::load({.model = text_path(), .n_threads = 1});
        EXPECT_TRUE(engine.ok()) << engine.status().message();
        return engine.ok() ? std::move(engine).value() : nullptr;
    }
};

TEST_F(TextOnlyTest, AnswersWithNothingToPrune) {
    const Answer answer = ask(text_request());
    EXPECT_EQ(answer.tokens.visual, 0U);
    EXPECT_EQ(answer.tokens.entering, 0U);
    EXPECT_EQ(answer.tokens.final, 0U);
    EXPECT_EQ(answer.tokens.average, 0.0);
    EXPECT_GT(answer.tokens.text, 10U);
    EXPECT_THAT(answer.mix, IsEmpty());
    EXPECT_THAT(answer.stages, IsEmpty());
    EXPECT_THAT(answer.layouts, IsEmpty());
    EXPECT_EQ(answer.method, "none");
    EXPECT_EQ(answer.label, "none");
    EXPECT_EQ(answer.mass, MassRule::None);
    EXPECT_EQ(answer.budget.decided, "none");
    EXPECT_EQ(answer.budget.reason, "there is no picture");
    EXPECT_FALSE(answer.cache_hit.has_value());
    EXPECT_EQ(answer.timings.encode_ms, 0.0);
    EXPECT_EQ(answer.generated, 4U);
    EXPECT_FALSE(answer.chosen_class.name.empty());
    EXPECT_THAT(answer.notes, Each(Not(HasSubstr("no effect"))));
}

TEST_F(TextOnlyTest, AModelWithoutItsVisionFileAnswersTheSameAndSaysSo) {
    const auto alone = load_text_alone();
    ASSERT_NE(alone, nullptr);
    const auto answer = alone->ask(text_request());
    ASSERT_TRUE(answer.ok()) << answer.status().message();
    const Answer with_vision = ask(text_request());
    EXPECT_EQ(answer->logits, with_vision.logits);
    EXPECT_EQ(answer->text, with_vision.text);
    EXPECT_THAT(answer->notes, Contains(HasSubstr("without a vision file")));
    EXPECT_THAT(with_vision.notes, Not(Contains(HasSubstr("without a vision file"))));
    EXPECT_EQ(alone->info().vision_blocks, 0U);
    EXPECT_EQ(alone->info().n_layers, engine().info().n_layers);
    // inspect says the same of the lone file.
    const auto inspected = inspect_gguf(text_path());
    ASSERT_TRUE(inspected.ok());
    EXPECT_TRUE(inspected->is_supported);
    EXPECT_THAT(inspected->needs, HasSubstr("none for questions in text"));
}

TEST_F(TextOnlyTest, APictureForAModelWithoutAVisionFileIsOneClearError) {
    const auto alone = load_text_alone();
    ASSERT_NE(alone, nullptr);
    const auto answer = alone->ask(request());
    EXPECT_EQ(answer.status().code(), Code::InvalidArgument);
    EXPECT_EQ(answer.status().message(),
              "the model was loaded without a vision file, so it cannot be asked about a picture");
    // In an earlier turn too.
    AskRequest later = text_request();
    later.history = {
        {Message::Role::User, {{.text = {}, .image = ImageSource{{}, picture_}}, {.text = "So?"}}},
        {Message::Role::Assistant, {{.text = "Yes."}}}};
    EXPECT_EQ(alone->ask(later).status().message(), answer.status().message());
    const auto kept = Engine::load({.model = text_path(), .n_threads = 1, .cache_dir = "somewhere"});
    EXPECT_THAT(kept.status().message(), HasSubstr("without a vision file"));
}

// A conversation may carry options for the pictures that are to come: they are no error, but not passed over.
TEST_F(TextOnlyTest, WhatIsSaidAboutPicturesIsNotIgnoredInSilence) {
    AskRequest asked = text_request();
    asked.budget = {BudgetSpec::Kind::Tokens, 20};
    asked.method = "fastv";
    asked.mass = MassRule::Nearest;
    const Answer answer = ask(asked);
    EXPECT_THAT(answer.notes, Contains("there is no picture, so these had no effect: budget, method, mass"));
    EXPECT_EQ(answer.logits, ask(text_request()).logits);
    EXPECT_EQ(answer.method, "none");
}

TEST_F(TextOnlyTest, TheTypeOfMostTextWeightsIsKnown) {
    EXPECT_EQ(engine().info().weight_type, "F32");
    test::RandomLlama text;
    text.n_layers = 4;
    text.width = 256;
    text.n_heads = 4;
    text.n_kv_heads = 4;
    text.ffn_width = 512;
    text.type = GGML_TYPE_Q4_0;
    text.vocabulary_file = std::string(test::llama_source_dir()) + "/models/ggml-vocab-llama-spm.gguf";
    const std::string path = text_path() + ".q4_0.gguf";
    ASSERT_TRUE(test::write_random_llama(path, text));
    const auto quantised = Engine::load({.model = path, .n_threads = 1});
    ASSERT_TRUE(quantised.ok()) << quantised.status().message();
    EXPECT_EQ((*quantised)->info().weight_type, "Q4_0");
    std::filesystem::remove(path);
}

}  // namespace
}  // namespace clasp
