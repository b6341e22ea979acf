#include "engine/generate.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "engine/text_stream.h"
#include "support/decoder_case.h"

namespace clasp::engine {
namespace {

using test::DecoderCase;

std::shared_ptr<const model::TextModel> small_model() {
    static const auto model = test::load_random_llama("generate", {});
    return model;
}

TEST(TextStream, JoinsCharactersThatAreSplitOverTokens) {
    TextStream stream;
    EXPECT_EQ(stream.push(" caf\xC3"), "caf");
    EXPECT_EQ(stream.push("\xA9 \xF0\x9F"), "\xC3\xA9");
    EXPECT_EQ(stream.push("\x90"), "");
    EXPECT_EQ(stream.push("\x88!\n"), " \xF0\x9F\x90\x88!");
    EXPECT_EQ(stream.finish(), "");
}

TEST(TextStream, ReplacesWhatIsNoText) {
    TextStream stream;
    EXPECT_EQ(stream.push("a\xFF"), "a\xEF\xBF\xBD");
    EXPECT_EQ(stream.push("\xE0\x80z"), "\xEF\xBF\xBD\xEF\xBF\xBDz");  // overlong
    EXPECT_EQ(stream.push("\xC3"), "");
    EXPECT_EQ(stream.finish(), "\xEF\xBF\xBD");
}

TEST(TextStream, LeavesOutWhiteSpaceAtTheEnds) {
    TextStream stream;
    EXPECT_EQ(stream.push("  "), "");
    EXPECT_EQ(stream.push("\n one "), "one");
    EXPECT_EQ(stream.push(" two "), "  two");
    EXPECT_EQ(stream.finish(), "");
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
        for (int i = 0; i < 64; ++i) tokens.push_back((*sampler)->pick(logits));
        return tokens;
    };
    EXPECT_EQ(draw(3), draw(3));
    EXPECT_NE(draw(3), draw(4));
    for (const std::int32_t token : draw(5)) EXPECT_NE(token, 3);
}

TEST(Generate, StreamedTextIsTheAnswerAndStopsAtTheLimit) {
    const DecoderCase prompt(*small_model(), {4, 6}, {80});
    auto session = DecoderSession::create(small_model());
    ASSERT_TRUE(session.ok());
    const auto prefill = (*session)->prefill({.parts = prompt.parts(), .room = room_for(20)});
    ASSERT_TRUE(prefill.ok());
    std::string streamed;
    GenerateOptions options = {.max_tokens = 20};
    options.sampling = {.temperature = 1.0F, .seed = 11};
    options.on_text = [&](std::string_view text) {
        if (streamed.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        streamed += text;
    };
    const auto result = generate(**session, prefill->logits, options);
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(result->text, streamed);
    ASSERT_FALSE(streamed.empty());
    EXPECT_GT(result->first_token_ms, 0.0);
    EXPECT_GE(result->decode_ms - result->first_token_ms, 5.0) << "what on_text takes does not count";
    EXPECT_TRUE(result->reason == StopReason::MaxTokens || result->reason == StopReason::End);
    EXPECT_LE(result->tokens.size(), 20U);
    if (result->reason == StopReason::MaxTokens) {
        EXPECT_EQ(result->tokens.size(), 20U);
        EXPECT_EQ((*session)->room(), 0);
    }
}

TEST(Generate, StopsWhenTheModelEndsItsAnswer) {
    const DecoderCase prompt(*small_model(), {4}, {});
    auto session = DecoderSession::create(small_model());
    ASSERT_TRUE(session.ok());
    ASSERT_TRUE((*session)->prefill({.parts = prompt.parts(), .room = 8}).ok());
    std::vector<float> logits(static_cast<std::size_t>(small_model()->config().vocabulary), 0.0F);
    logits[2] = 10.0F;  // </s>
    const auto result = generate(**session, logits, {.max_tokens = 8});
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->reason, StopReason::End);
    EXPECT_TRUE(result->tokens.empty());
    EXPECT_EQ(result->text, "");
}

TEST(Generate, CancelKeepsTheTextSoFar) {
    const DecoderCase prompt(*small_model(), {4, 6}, {80});
    auto session = DecoderSession::create(small_model());
    ASSERT_TRUE(session.ok());
    const auto prefill = (*session)->prefill({.parts = prompt.parts(), .room = 50});
    ASSERT_TRUE(prefill.ok());
    std::atomic<bool> cancel = false;
    GenerateOptions options = {.max_tokens = 50};
    options.sampling = {.temperature = 1.0F, .seed = 5};
    options.cancel = &cancel;
    int pieces = 0;
    options.on_text = [&](std::string_view) { cancel = ++pieces == 3; };
    const auto result = generate(**session, prefill->logits, options);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->reason, StopReason::Cancelled);
    EXPECT_LT(result->tokens.size(), 50U);

    // A prompt can be cancelled too, and the session still works afterwards.
    cancel = true;
    const auto cancelled = (*session)->prefill({.parts = prompt.parts(), .cancel = &cancel});
    EXPECT_EQ(cancelled.status().code(), Code::Cancelled);
    EXPECT_EQ((*session)->kv().bytes(), 0U);
    const auto again = (*session)->prefill({.parts = prompt.parts()});
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->logits, prefill->logits);
}

TEST(Generate, SaysWhatDoesNotFit) {
    const DecoderCase prompt(*small_model(), {4}, {});
    auto session = DecoderSession::create(small_model());
    ASSERT_TRUE(session.ok());
    EXPECT_EQ((*session)->decode(5).status().code(), Code::InvalidArgument);
    const auto prefill = (*session)->prefill({.parts = prompt.parts(), .room = 1});
    ASSERT_TRUE(prefill.ok());
    EXPECT_EQ(generate(**session, prefill->logits, {.max_tokens = 3}).status().code(), Code::TooLarge);
    ASSERT_TRUE((*session)->decode(5).ok());
    EXPECT_EQ((*session)->decode(5).status().code(), Code::TooLarge);
    EXPECT_EQ((*session)->decode(-1).status().code(), Code::InvalidArgument);
    const auto too_long = (*session)->prefill({.parts = prompt.parts(), .room = 2045});
    EXPECT_EQ(too_long.status().code(), Code::TooLarge);
    EXPECT_NE(too_long.status().message().find("2048"), std::string::npos) << too_long.status().message();
}

}  // namespace
}  // namespace clasp::engine
