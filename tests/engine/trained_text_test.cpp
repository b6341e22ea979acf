// Questions in text to a trained model, where scripts/fetch-tinyllama has put it: our own graphs answer as
// libllama does, token by token.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "clasp/engine.h"
#include "engine/executor.h"
#include "engine/prompt.h"
#include "engine/sequence.h"
#include "support/llama_oracle.h"
#include "support/trained_model.h"

namespace clasp::engine {
namespace {

constexpr std::size_t kTokens = 64;
// libllama sums attention by threads.
constexpr std::size_t kThreads = 1;
// Of logits whose two best are as near as 0.001; the same kernels over the same layouts give the same bits.
constexpr float kTolerance = 1e-4F;

constexpr std::array kQuestions = {
    "What is the capital of France?",
    "Name three primary colours.",
    "How many days does a week have?",
    "Write one sentence about the sea.",
    "Who wrote Romeo and Juliet?",
    "What is water made of?",
    "Explain in two sentences why the sky is blue.",
    "List the planets of the solar system.",
    "What is 7 times 8?",
    "Give me a recipe for pancakes.",
};

std::int32_t best(std::span<const float> logits) {
    return static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

// The distance of the two best.
float gap(std::span<const float> logits) {
    std::vector<float> sorted(logits.begin(), logits.end());
    std::partial_sort(sorted.begin(), sorted.begin() + 2, sorted.end(), std::greater<>());
    return sorted[0] - sorted[1];
}

class TrainedText : public testing::Test {
   protected:
    void SetUp() override {
        file_ = test::tinyllama_path();
        if (!std::filesystem::exists(file_)) {
            GTEST_SKIP() << "no trained model at '" << file_ << "': run scripts/fetch-tinyllama";
        }
    }
    std::string file_;
};

class TrainedAnswers : public TrainedText, public testing::WithParamInterface<std::size_t> {};

// Both read the same prompt, made by our chat template; libllama, which loads the file by itself, is then fed
// our tokens and has to agree with each of them.
TEST_P(TrainedAnswers, AreThoseOfLibllama) {
    const std::shared_ptr<model::Compute> compute = model::Compute::create({.n_threads = kThreads}).value();
    const auto model = model::TextModel::load(file_, compute);
    ASSERT_TRUE(model.ok()) << model.status().message();
    const auto executor = Executor::create(*model);
    ASSERT_TRUE(executor.ok()) << executor.status().message();
    llama_model_params params = llama_model_default_params();
    params.n_gpu_layers = 0;
    const std::unique_ptr<llama_model, decltype(&llama_model_free)> loaded(
        llama_model_load_from_file(file_.c_str(), params), llama_model_free);
    ASSERT_NE(loaded, nullptr);
    test::LlamaOracle oracle(**model, 512, static_cast<std::int32_t>(kThreads), loaded.get());
    const char* question = kQuestions[GetParam()];
    const std::array<Message, 1> messages = {Message{Message::Role::User, {{.text = question}}}};
    const auto prompt = build_prompt(**model, messages);
    ASSERT_TRUE(prompt.ok()) << prompt.status().message();
    ASSERT_EQ(prompt->pieces.size(), 1U);
    const std::array<PromptPart, 1> parts = {PromptPart{.tokens = prompt->pieces[0].tokens}};
    auto sequence = Sequence::create(*model);
    ASSERT_TRUE(sequence.ok()) << sequence.status().message();
    const auto prefill = (*executor)->prefill(*sequence, {.parts = parts, .room = kTokens});
    ASSERT_TRUE(prefill.ok()) << prefill.status().message();
    std::vector<float> ours = prefill->logits;
    std::vector<float> theirs = oracle.prefill(parts);
    std::string text;
    float largest_difference = 0.0F;
    for (std::size_t i = 0; i < kTokens; ++i) {
        ASSERT_EQ(theirs.size(), ours.size());
        const std::int32_t token = best(ours);
        for (std::size_t j = 0; j < ours.size(); ++j)
            largest_difference = std::max(largest_difference, std::abs(ours[j] - theirs[j]));
        ASSERT_EQ(token, best(theirs)) << question << " token " << i << ": libllama's two best are "
                                       << gap(theirs) << " apart, ours " << gap(ours);
        if ((*model)->ends_generation(token)) break;
        text += (*model)->piece(token);
        const auto next = (*executor)->step(*sequence, token);
        ASSERT_TRUE(next.ok()) << next.status().message();
        ours.assign(next->begin(), next->end());
        theirs = oracle.decode(token);
    }
    EXPECT_LT(largest_difference, kTolerance) << question;
    EXPECT_FALSE(text.empty()) << question;
}

INSTANTIATE_TEST_SUITE_P(Questions, TrainedAnswers, testing::Range(std::size_t{0}, kQuestions.size()));

TEST_F(TrainedText, TheEngineAnswersWithoutAVisionFile) {
    EngineOptions options;
    options.model = file_;
    options.n_threads = kThreads;
    const auto engine = Engine::load(options);
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    EXPECT_EQ((*engine)->info().weight_type, "IQ2_XXS");
    AskRequest request;
    request.question = "What is the capital of France?";
    request.generation.max_tokens = 32;
    const auto answer = (*engine)->ask(request);
    ASSERT_TRUE(answer.ok()) << answer.status().message();
    EXPECT_NE(answer->text.find("Paris"), std::string::npos) << answer->text;
}

}  // namespace
}  // namespace clasp::engine
