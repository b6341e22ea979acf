// Conversations: every question is asked with all that was said before it, and no picture is encoded twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "clasp/conversation.h"
#include "clasp/engine.h"
#include "clasp/image.h"
#include "engine_fixture.h"
#include "support/grid_tower.h"

namespace clasp {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class ConversationTest : public EngineTest {
   protected:
    static AskRequest said(const std::string& text) {
        AskRequest request;
        request.question = text;
        request.generation.max_tokens = 4;
        request.want_logits = true;
        return request;
    }
    AskRequest shown(const std::string& text) const {
        AskRequest request = said(text);
        request.images = {{{}, picture_}};
        return request;
    }
    static Answer next(Conversation& conversation, const AskRequest& request) {
        auto answer = conversation.ask(request);
        EXPECT_TRUE(answer.ok()) << answer.status().message();
        return answer.ok() ? std::move(answer).value() : Answer();
    }
    static std::string text_of(const Message& message) { return message.parts.back().text; }
};

TEST_F(ConversationTest, ThreeTurnsWithAPictureInTheSecond) {
    Conversation conversation(engine(), "Answer in one sentence.");
    const Answer first = next(conversation, said("Good morning."));
    EXPECT_EQ(first.tokens.visual, 0U);
    EXPECT_EQ(first.method, "none");
    const Answer second = next(conversation, shown("How many cups are on the table?"));
    EXPECT_EQ(second.tokens.visual, kTokens);
    const Answer third = next(conversation, said("And what colour are they?"));
    EXPECT_EQ(third.tokens.visual, kTokens);
    EXPECT_GT(third.tokens.text, second.tokens.text);
    EXPECT_FALSE(third.stages.empty()) << "a follow-up question chooses anew";
    EXPECT_EQ(third.cache_hit, true);
    EXPECT_EQ(third.timings.encode_ms, 0.0);

    ASSERT_THAT(conversation.messages(), SizeIs(7));
    EXPECT_EQ(conversation.messages()[0].role, Message::Role::System);
    EXPECT_EQ(text_of(conversation.messages()[2]), first.text);
    EXPECT_EQ(text_of(conversation.messages()[4]), second.text);
    EXPECT_EQ(text_of(conversation.messages()[6]), third.text);

    // The same history in one request, on an engine that has seen nothing.
    const auto fresh = Engine::load({.model = text_path(), .mmproj = vision_path(), .n_threads = 1});
    ASSERT_TRUE(fresh.ok()) << fresh.status().message();
    AskRequest whole = said("And what colour are they?");
    whole.history = {
        {Message::Role::System, {{.text = "Answer in one sentence."}}},
        {Message::Role::User, {{.text = "Good morning."}}},
        {Message::Role::Assistant, {{.text = first.text}}},
        {Message::Role::User,
         {{.text = {}, .image = ImageSource{{}, picture_}}, {.text = "How many cups are on the table?"}}},
        {Message::Role::Assistant, {{.text = second.text}}}};
    const auto again = (*fresh)->ask(whole);
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(again->logits, third.logits);
    EXPECT_EQ(again->text, third.text);
    ASSERT_EQ(again->stages.size(), third.stages.size());
    for (std::size_t i = 0; i < third.stages.size(); ++i)
        EXPECT_EQ(again->stages[i].kept, third.stages[i].kept);
    // What was said before matters.
    whole.history[4].parts[0].text += " And a spoon.";
    EXPECT_NE((*fresh)->ask(whole)->logits, third.logits);
}

TEST_F(ConversationTest, AnErrorInATurnLeavesItAsItWas) {
    Conversation conversation(engine());
    next(conversation, shown("How many cups are on the table?"));
    const std::vector<Message> before = conversation.messages();
    AskRequest missing = said("And here?");
    missing.images = {{"no-such-picture.png", {}}};
    EXPECT_THAT(conversation.ask(missing).status().message(), HasSubstr("no-such-picture.png"));
    AskRequest damaged = said("And here?");
    damaged.images = {{{}, "not a picture"}};
    EXPECT_FALSE(conversation.ask(damaged).ok());
    AskRequest unknown = said("And here?");
    unknown.method = "magic";
    EXPECT_FALSE(conversation.ask(unknown).ok());
    AskRequest own = said("And here?");
    own.history = before;
    EXPECT_EQ(conversation.ask(own).status().code(), Code::InvalidArgument);
    ASSERT_EQ(conversation.messages().size(), before.size());
    for (std::size_t i = 0; i < before.size(); ++i) {
        EXPECT_EQ(conversation.messages()[i].role, before[i].role);
        EXPECT_EQ(text_of(conversation.messages()[i]), text_of(before[i]));
    }
    const Answer after = next(conversation, said("Are you sure?"));
    Conversation untroubled(engine());
    next(untroubled, shown("How many cups are on the table?"));
    EXPECT_EQ(after.logits, next(untroubled, said("Are you sure?")).logits);
}

TEST_F(ConversationTest, PicturesAreKeptAsTheyWere) {
    const std::string path = text_path() + ".picture.bmp";
    std::ofstream(path, std::ios::binary) << picture_;
    Conversation conversation(engine());
    {
        AskRequest request = said("How many cups are on the table?");
        request.images = {{path, {}}};
        next(conversation, request);
    }
    std::filesystem::remove(path);
    const Answer later = next(conversation, said("Are you sure?"));
    EXPECT_EQ(later.cache_hit, true);
    Conversation from_memory(engine());
    next(from_memory, shown("How many cups are on the table?"));
    EXPECT_EQ(later.logits, next(from_memory, said("Are you sure?")).logits);
}

// Bytes of its own, in whichever way they were given: the caller's are gone, and the conversation copied.
TEST_F(ConversationTest, ACopyIsAFork) {
    auto first = std::make_unique<Conversation>(engine());
    const std::string large = picture(3, 400, 200);
    AskRequest straight = said("How many cups are on the table?");
    straight.images = {{{}, large}};
    next(*first, straight);
    {
        const std::string borrowed = picture(4, 400, 200);
        AskRequest mixed = said("And here?");
        mixed.parts = {
            {.text = "Before it. "}, {.text = {}, .image = ImageSource{{}, borrowed}}, {.text = "And here?"}};
        next(*first, mixed);
    }
    Conversation fork = *first;
    const Answer wanted = next(*first, said("Are you sure?"));
    first.reset();
    EXPECT_EQ(fork.messages()[0].parts[0].image->bytes, large);
    EXPECT_EQ(fork.messages()[2].parts[1].image->bytes, picture(4, 400, 200));
    ASSERT_THAT(fork.messages(), SizeIs(4));
    EXPECT_EQ(next(fork, said("Are you sure?")).logits, wanted.logits);
}

// Clips are read where they are: a folder is no file, and a video may be larger than a picture.
TEST_F(ConversationTest, ClipsStayWhereTheyAre) {
    const std::string folder = text_path() + ".frames";
    std::filesystem::create_directories(folder);
    for (unsigned i = 0; i < 3; ++i) {
        std::ofstream(folder + "/" + std::to_string(i) + ".bmp", std::ios::binary) << picture(i + 1, 40, 30);
    }
    Conversation conversation(engine());
    AskRequest shows = said("What happens?");
    shows.images = {{folder, {}}};
    EXPECT_EQ(next(conversation, shows).tokens.visual, 3 * kTokens);
    const Answer again = next(conversation, said("And then?"));
    EXPECT_EQ(again.tokens.visual, 3 * kTokens);
    EXPECT_EQ(again.cache_hit, true);
    const std::string video = folder + "/clip.mp4";
    std::ofstream(video, std::ios::binary) << std::string("\0\0\0\x10", 4) + "ftypisom";
    std::filesystem::resize_file(video, ImageLimits().max_file_bytes + 1);
    shows.images = {{video, {}}};
    EXPECT_THAT(
        conversation.ask(shows).status().message(),
        testing::Not(HasSubstr("more than the limit of " + std::to_string(ImageLimits().max_file_bytes))));
    std::filesystem::remove_all(folder);
}

TEST_F(ConversationTest, AnAnswerThatWasBegunIsOneMessage) {
    Conversation conversation(engine());
    AskRequest begun = said("Good morning.");
    begun.answer_begin = "And to you";
    const Answer answer = next(conversation, begun);
    ASSERT_THAT(conversation.messages(), SizeIs(2));
    EXPECT_EQ(text_of(conversation.messages()[1]), "And to you" + answer.text);
}

TEST_F(ConversationTest, CuttingBackForgets) {
    Conversation conversation(engine());
    next(conversation, said("Good morning."));
    const Answer asked = next(conversation, said("What is the capital of France?"));
    conversation.cut_back(2);
    ASSERT_THAT(conversation.messages(), SizeIs(2));
    EXPECT_EQ(next(conversation, said("What is the capital of France?")).logits, asked.logits);
}

// A tower that gives each picture its own grid, one in either turn.
TEST_F(ConversationTest, PicturesOfDifferentSizesInDifferentTurns) {
    test::register_grid_tower();
    const std::string vision = vision_path() + ".grid.gguf";
    std::ofstream(vision, std::ios::binary) << test::grid_mmproj({});
    const auto engine =
        Engine::load({.model = text_path(), .mmproj = vision, .n_threads = 1, .cached_images = 2});
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    const std::string wide = picture(1, 40, 24);
    const std::string tall = picture(2, 24, 56);
    const auto with = [](AskRequest request, const std::string& bytes) {
        request.images = {{{}, bytes}};
        request.use_fusion = false;
        return request;
    };
    Conversation conversation(**engine);
    const Answer first = next(conversation, with(said("What is here?"), wide));
    ASSERT_THAT(first.layouts, SizeIs(1));
    const Answer second = next(conversation, with(said("And here?"), tall));
    ASSERT_THAT(second.layouts, SizeIs(2));
    EXPECT_EQ(second.layouts[0].grid, first.layouts[0].grid);
    EXPECT_NE(second.layouts[0].grid, second.layouts[1].grid);
    EXPECT_EQ(second.tokens.visual, second.layouts[0].n_tokens() + second.layouts[1].n_tokens());
    EXPECT_EQ(second.cache_hit, false) << "the second picture is new";
    AskRequest follow = said("Which is larger?");
    follow.use_fusion = false;
    const Answer third = next(conversation, follow);
    EXPECT_EQ(third.cache_hit, true);
    EXPECT_EQ(third.tokens.visual, second.tokens.visual);
    std::filesystem::remove(vision);
}

}  // namespace
}  // namespace clasp
