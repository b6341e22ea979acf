#include "engine/generate.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "support/decoder_case.h"

namespace clasp::engine {
namespace {

using test::DecoderCase;

std::shared_ptr<const model::TextModel> small_model() {
    static const auto model = test::load_random_llama("generate", {});
    return model;
}

// Continues a sequence whose last token gave these logits, token by token.
Result<GenerateResult> generate(Executor& executor, Sequence& sequence, std::span<const float> first_logits,
                                const GenerateOptions& options) {
    CLASP_ASSIGN_OR_RETURN(const auto writing, Generation::start(sequence, options));
    std::optional<std::int32_t> token = writing->take(first_logits);
    while (token) {
        CLASP_ASSIGN_OR_RETURN(const std::span<const float> next, executor.step(sequence, *token));
        token = writing->take(next);
    }
    return writing->finish();
}

TEST(Sampler, RefusesBadOptions) {
    EXPECT_FALSE(Sampler::create({.temperature = -1.0F}).ok());
    EXPECT_FALSE(Sampler::create({.temperature = 1.0F, .top_p = 0.0F}).ok());
    EXPECT_FALSE(Sampler::create({.temperature = 1.0F, .top_p = 1.5F}).ok());
}

TEST(Sampler, GreedyTakesTheLargest) {
    auto sampler = Sampler::create({});
    ASSERT_TRUE(sampler.ok());
    EXPECT_EQ((*sampler)->pick(std::vector<float>{0.5F, 3.0F, -1.0F, 2.9F}), 1);
}

TEST(Sampler, TheSameSeedGivesTheSameTokensAndTopPHoldsBackTheRest) {
    const std::vector<float> logits = {1.0F, 1.1F, 0.9F, -20.0F};
    const auto draw = [&](std::uint32_t seed) {
        auto sampler = Sampler::create({.temperature = 1.0F, .top_p = 0.99F, .seed = seed});
        std::vector<std::int32_t> tokens;
        for (int i = 0; i < 64; ++i) tokens.push_back((*sampler)->pick(logits).value_or(-1));
        return tokens;
    };
    EXPECT_EQ(draw(3), draw(3));
    EXPECT_NE(draw(3), draw(4));
    for (const std::int32_t token : draw(5)) EXPECT_NE(token, 3);
}

TEST(Generate, StreamedTextIsTheAnswerAndStopsAtTheLimit) {
    const DecoderCase prompt(*small_model(), {4, 6}, {80});
    auto executor = Executor::create(small_model());
    ASSERT_TRUE(executor.ok());
    auto sequence = Sequence::create(small_model());
    ASSERT_TRUE(sequence.ok());
    const auto prefill = (*executor)->prefill(*sequence, {.parts = prompt.parts(), .room = room_for(20)});
    ASSERT_TRUE(prefill.ok());
    std::string streamed;
    GenerateOptions options = {.max_tokens = 20};
    options.sampling = {.temperature = 1.0F, .seed = 11};
    options.on_text = [&](std::string_view text) {
        if (streamed.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        streamed += text;
    };
    const auto result = generate(**executor, *sequence, prefill->logits, options);
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(result->text, streamed);
    ASSERT_FALSE(streamed.empty());
    EXPECT_GT(result->first_token_ms, 0.0);
    EXPECT_GE(result->decode_ms - result->first_token_ms, 5.0) << "what on_text takes does not count";
    EXPECT_TRUE(result->reason == Stopped::MaxTokens || result->reason == Stopped::End);
    EXPECT_LE(result->tokens.size(), 20U);
    if (result->reason == Stopped::MaxTokens) {
        EXPECT_EQ(result->tokens.size(), 20U);
        EXPECT_EQ(sequence->room(), 0);
    }
}

TEST(Generate, StopsWhenTheModelEndsItsAnswer) {
    const DecoderCase prompt(*small_model(), {4}, {});
    auto executor = Executor::create(small_model());
    ASSERT_TRUE(executor.ok());
    auto sequence = Sequence::create(small_model());
    ASSERT_TRUE(sequence.ok());
    ASSERT_TRUE((*executor)->prefill(*sequence, {.parts = prompt.parts(), .room = 8}).ok());
    std::vector<float> logits(static_cast<std::size_t>(small_model()->config().vocabulary), 0.0F);
    logits[2] = 10.0F;  // </s>
    const auto result = generate(**executor, *sequence, logits, {.max_tokens = 8});
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->reason, Stopped::End);
    EXPECT_TRUE(result->tokens.empty());
    EXPECT_EQ(result->text, "");
}

TEST(Generate, CancelKeepsTheTextSoFar) {
    const DecoderCase prompt(*small_model(), {4, 6}, {80});
    auto executor = Executor::create(small_model());
    ASSERT_TRUE(executor.ok());
    auto sequence = Sequence::create(small_model());
    ASSERT_TRUE(sequence.ok());
    const auto prefill = (*executor)->prefill(*sequence, {.parts = prompt.parts(), .room = 50});
    ASSERT_TRUE(prefill.ok());
    std::atomic<bool> cancel = false;
    GenerateOptions options = {.max_tokens = 50};
    options.sampling = {.temperature = 1.0F, .seed = 5};
    options.cancel = &cancel;
    int pieces = 0;
    options.on_text = [&](std::string_view) { cancel = ++pieces == 3; };
    const auto result = generate(**executor, *sequence, prefill->logits, options);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->reason, Stopped::Cancelled);
    EXPECT_LT(result->tokens.size(), 50U);

    // A prompt can be cancelled too, and the sequence still works afterwards.
    cancel = true;
    const auto cancelled = (*executor)->prefill(*sequence, {.parts = prompt.parts(), .cancel = &cancel});
    EXPECT_EQ(cancelled.status().code(), Code::Cancelled);
    EXPECT_EQ(sequence->kv().bytes(), 0U);
    const auto again = (*executor)->prefill(*sequence, {.parts = prompt.parts()});
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->logits, prefill->logits);
}

TEST(Generate, SaysWhatDoesNotFit) {
    const DecoderCase prompt(*small_model(), {4}, {});
    auto executor = Executor::create(small_model());
    ASSERT_TRUE(executor.ok());
    auto sequence = Sequence::create(small_model());
    ASSERT_TRUE(sequence.ok());
    EXPECT_EQ((*executor)->step(*sequence, 5).status().code(), Code::InvalidArgument);
    const auto prefill = (*executor)->prefill(*sequence, {.parts = prompt.parts(), .room = 1});
    ASSERT_TRUE(prefill.ok());
    EXPECT_EQ(generate(**executor, *sequence, prefill->logits, {.max_tokens = 3}).status().code(),
              Code::TooLarge);
    ASSERT_TRUE((*executor)->step(*sequence, 5).ok());
    EXPECT_EQ((*executor)->step(*sequence, 5).status().code(), Code::TooLarge);
    EXPECT_EQ((*executor)->step(*sequence, -1).status().code(), Code::InvalidArgument);
    const auto too_long = (*executor)->prefill(*sequence, {.parts = prompt.parts(), .room = 2045});
    EXPECT_EQ(too_long.status().code(), Code::TooLarge);
    EXPECT_NE(too_long.status().message().find("2048"), std::string::npos) << too_long.status().message();
}

}  // namespace
}  // namespace clasp::engine
