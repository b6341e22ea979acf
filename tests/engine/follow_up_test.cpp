// Questions that follow others: what they reuse, what they choose anew, and that caches change no bit.
#include "engine/follow_up.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "clasp/conversation.h"
#include "engine/ask_run.h"
#include "engine_fixture.h"
#include "support/decoder_case.h"

namespace clasp {
namespace {

using engine::KeptAtStage;
using testing::HasSubstr;

// The definition in plain loops: again and again the best that is left.
double missed_by_hand(const std::vector<float>& scores, const std::vector<KeptAtStage>& stages) {
    double largest = 0.0;
    for (const KeptAtStage& stage : stages) {
        std::set<TokenIndex> taken;
        double wanted = 0.0;
        double missed = 0.0;
        for (std::size_t n = 0; n < stage.n_relevant; ++n) {
            std::size_t best = scores.size();
            for (std::size_t i = 0; i < scores.size(); ++i) {
                if (taken.contains(static_cast<TokenIndex>(i))) continue;
                if (best == scores.size() || scores[i] > scores[best]) best = i;
            }
            taken.insert(static_cast<TokenIndex>(best));
            wanted += static_cast<double>(scores[best]);
            const bool is_there = std::find(stage.kept.begin(), stage.kept.end(),
                                            static_cast<TokenIndex>(best)) != stage.kept.end();
            if (!is_there) missed += static_cast<double>(scores[best]);
        }
        largest = std::max(largest, wanted > 0.0 ? missed / wanted : 0.0);
    }
    return largest;
}

TEST(MissedShare, IsItsDefinition) {
    std::mt19937 random(5);
    for (int round = 0; round < 50; ++round) {
        std::vector<float> scores(20);
        for (float& score : scores) score = static_cast<float>(random() % 8) / 8.0F;
        std::vector<KeptAtStage> stages(3);
        for (KeptAtStage& stage : stages) {
            for (TokenIndex i = 0; i < 20; ++i) {
                if (random() % 2 == 0) stage.kept.push_back(i);
            }
            stage.n_relevant = random() % 12;
        }
        EXPECT_DOUBLE_EQ(engine::missed_share(scores, stages), missed_by_hand(scores, stages));
    }
}

TEST(MissedShare, IsNothingWhereAllIsThereAndAllWhereNothingIs) {
    const std::vector<float> scores = {0.1F, 0.4F, 0.2F, 0.3F};
    EXPECT_EQ(engine::missed_share(scores, {}), 0.0);
    const std::vector<KeptAtStage> best = {{{1, 3}, 2}};
    EXPECT_EQ(engine::missed_share(scores, best), 0.0);
    const std::vector<KeptAtStage> others = {{{0, 2}, 2}};
    EXPECT_EQ(engine::missed_share(scores, others), 1.0);
    // The worst stage counts.
    const std::vector<KeptAtStage> both = {{{0, 1, 2, 3}, 4}, {{1, 2}, 2}};
    EXPECT_NEAR(engine::missed_share(scores, both), 0.3 / 0.7, 1e-6);
}

class FollowUp : public EngineTest {
   protected:
    static void SetUpTestSuite() {
        EngineTest::SetUpTestSuite();
        auto keeping = load(std::size_t{256} << 20U);
        ASSERT_TRUE(keeping.ok()) << keeping.status().message();
        keeper() = std::move(keeping).value();
    }
    static void TearDownTestSuite() {
        keeper().reset();
        EngineTest::TearDownTestSuite();
    }
    static Result<std::unique_ptr<Engine>> load(std::size_t history_bytes) {
        return Engine::load({.model = text_path(),
                             .mmproj = vision_path(),
                             .n_threads = 1,
                             .cached_images = 4,
                             .history_bytes = history_bytes});
    }
    // An engine that keeps prompts; engine() does not.
    static std::unique_ptr<Engine>& keeper() {
        static std::unique_ptr<Engine> engine;
        return engine;
    }
    static AskRequest said(const std::string& text, HistoryMode mode) {
        AskRequest request;
        request.question = text;
        request.generation.max_tokens = 6;
        request.want_logits = true;
        request.history_mode = mode;
        return request;
    }
    AskRequest shown(const std::string& text, HistoryMode mode) const {
        AskRequest request = said(text, mode);
        request.images = {{{}, picture_}};
        return request;
    }
    static Answer next(Conversation& conversation, const AskRequest& request) {
        auto answer = conversation.ask(request);
        EXPECT_TRUE(answer.ok()) << answer.status().message();
        return answer.ok() ? std::move(answer).value() : Answer();
    }
    static std::vector<std::vector<TokenIndex>> kept(const Answer& answer) {
        std::vector<std::vector<TokenIndex>> lists;
        for (const StageReport& stage : answer.stages) lists.push_back(stage.kept);
        return lists;
    }
};

constexpr auto kReselect = HistoryMode::Reselect;
constexpr auto kReuse = HistoryMode::Reuse;
constexpr auto kAuto = HistoryMode::Auto;

TEST_F(FollowUp, CachesChangeNoBit) {
    for (const char* budget : {"33%", "none", "12"}) {
        Conversation with(*keeper(), "Answer in one sentence.");
        Conversation without(engine(), "Answer in one sentence.");
        const std::vector<std::string> questions = {"How many cups are on the table?",
                                                    "What colour is the cup?", "Where is the cup?",
                                                    "Is there a spoon?"};
        for (std::size_t i = 0; i < questions.size(); ++i) {
            AskRequest request = i == 0 ? shown(questions[i], kReselect) : said(questions[i], kReselect);
            request.budget = *parse_budget(budget);
            const Answer found = next(with, request);
            const Answer expected = next(without, request);
            EXPECT_EQ(found.logits, expected.logits) << budget << " " << questions[i];
            EXPECT_EQ(found.text, expected.text);
            EXPECT_EQ(kept(found), kept(expected));
            EXPECT_EQ(found.history.did, kReselect);
            EXPECT_TRUE(i == 0 || found.history.n_tokens > 0) << "the text before the picture";
        }
        // The same class again: the picture's rows before the first stage are there.
        AskRequest more = said("How many cups are on the table?", kReselect);
        more.budget = *parse_budget(budget);
        const Answer last = next(with, more);
        EXPECT_GT(last.history.n_front_tokens, kTokens);
        EXPECT_EQ(last.logits, next(without, more).logits);
    }
}

TEST_F(FollowUp, ReuseKeepsTheFirstQuestionsTokens) {
    Conversation conversation(*keeper());
    const Answer first = next(conversation, shown("How many cups are on the table?", kReuse));
    EXPECT_EQ(first.history.did, kReselect) << "there is nothing to reuse yet";
    const Answer second = next(conversation, said("What colour is the cup?", kReuse));
    EXPECT_EQ(second.history.did, kReuse);
    EXPECT_EQ(kept(second), kept(first));
    EXPECT_EQ(second.mix, first.mix);
    EXPECT_GT(second.history.n_tokens, kTokens);
    EXPECT_EQ(second.timings.encode_ms, 0.0);
    EXPECT_EQ(second.timings.project_ms, 0.0);
    EXPECT_FALSE(second.history.missed);
    EXPECT_EQ(second.tokens.final, first.tokens.final);
    EXPECT_GT(second.tokens.text, first.tokens.text);
    const Answer third = next(conversation, said("Where is it?", kReuse));
    EXPECT_EQ(third.history.did, kReuse);
    EXPECT_EQ(kept(third), kept(first));
    EXPECT_GT(third.history.n_tokens, second.history.n_tokens);
    const Answer own = next(conversation, said("How many spoons are there?", kReselect));
    EXPECT_EQ(own.history.did, kReselect);
}

// Methods that look at no question keep the same tokens for all of them, so both ways have to meet.
TEST_F(FollowUp, ReuseIsWhatTheWholePromptGivesWithTheSameTokens) {
    for (const char* method : {"uniform", "random"}) {
        for (const auto mass : {MassRule::None, MassRule::Nearest}) {
            const auto with_method = [&](AskRequest request) {
                request.method = method;
                request.mass = mass;
                request.use_fusion = false;
                return request;
            };
            Conversation reusing(*keeper());
            Conversation choosing(engine());
            const std::vector<std::string> questions = {"How many cups are on the table?",
                                                        "What colour is the cup?", "Where is it?"};
            for (std::size_t i = 0; i < questions.size(); ++i) {
                const HistoryMode mode = kReuse;
                const Answer reused =
                    next(reusing, with_method(i == 0 ? shown(questions[i], mode) : said(questions[i], mode)));
                const Answer chosen = next(choosing, with_method(i == 0 ? shown(questions[i], kReselect)
                                                                        : said(questions[i], kReselect)));
                EXPECT_EQ(reused.history.did, i == 0 ? kReselect : kReuse);
                ASSERT_EQ(kept(reused), kept(chosen));
                EXPECT_LT(test::relative_distance(reused.logits, chosen.logits), 1e-2) << method << i;
                ASSERT_EQ(reused.text, chosen.text) << "or the conversations are no longer the same";
            }
        }
    }
}

// What is new of a question that follows is read some layers at a time, like a whole prompt, and another
// request writes in between.
TEST_F(FollowUp, ReuseIsReadInSteps) {
    using Step = engine::AskRun::Phase;
    const std::string first = "How many cups are on the table?";
    Conversation whole(*keeper());
    const Answer before = next(whole, shown(first, kReuse));
    const std::string second = "What colour is the cup, and what stands beside it on the table?";
    const Answer expected = next(whole, said(second, kReuse));
    ASSERT_EQ(expected.history.did, kReuse);

    const auto start = [](const AskRequest& request) {
        auto plan = engine::plan_ask(keeper()->state(), request);
        EXPECT_TRUE(plan.ok()) << plan.status().message();
        return std::make_unique<engine::AskRun>(keeper()->state(), std::move(*plan), base::Stopwatch());
    };
    const auto lane = engine::Lane::open(keeper()->state());
    ASSERT_TRUE(lane.ok());
    AskRequest writing = said("Tell me everything.", kReselect);
    writing.generation.max_tokens = 100;
    writing.generation.ignores_end = true;
    const auto writer = start(writing);
    ASSERT_TRUE(writer->see(**lane).ok());
    while (writer->phase() == Step::Read) ASSERT_TRUE(writer->read(**lane, 100).ok());

    // In a scope of its own, where the second question was not asked yet.
    AskRequest again = shown(first, kReuse);
    again.cache_scope = "steps";
    ASSERT_TRUE(keeper()->ask(again).ok());
    AskRequest following = said(second, kReuse);
    following.cache_scope = "steps";
    following.history = {
        {Message::Role::User, {{.text = {}, .image = ImageSource{{}, picture_}}, {.text = first}}},
        {Message::Role::Assistant, {{.text = before.text}}}};
    const auto reader = start(following);
    ASSERT_TRUE(reader->see(**lane).ok());
    std::size_t n_units = 0;
    while (reader->phase() == Step::Read) {
        ASSERT_TRUE(reader->read(**lane, 1).ok());
        ++n_units;
        engine::AskRun* const alone = writer.get();
        ASSERT_TRUE(engine::AskRun::write(**lane, std::span(&alone, 1), nullptr).ok());
    }
    EXPECT_EQ(n_units, keeper()->info().n_layers);
    engine::AskRun* const alone = reader.get();
    while (reader->phase() == Step::Write)
        ASSERT_TRUE(engine::AskRun::write(**lane, std::span(&alone, 1), nullptr).ok());
    const Answer found = reader->take_answer();
    EXPECT_EQ(found.history.did, kReuse);
    EXPECT_EQ(found.logits, expected.logits);
    EXPECT_EQ(found.text, expected.text);
    EXPECT_GT(found.timings.prefill_ms, 0.0);
}

TEST_F(FollowUp, AForkGoesOnFromWhatItShares) {
    Conversation conversation(*keeper());
    const Answer first = next(conversation, shown("How many cups are on the table?", kReuse));
    next(conversation, said("What colour is the cup?", kReuse));
    conversation.cut_back(2);
    const Answer other = next(conversation, said("Is there a spoon?", kReuse));
    EXPECT_EQ(other.history.did, kReuse);
    EXPECT_EQ(kept(other), kept(first));

    Conversation straight(*keeper());
    next(straight, shown("How many cups are on the table?", kReuse));
    const Answer expected = next(straight, said("Is there a spoon?", kReuse));
    EXPECT_EQ(expected.history.did, kReuse);
    EXPECT_LT(test::relative_distance(other.logits, expected.logits), 1e-2);
    // Another first question has no claim to these tokens.
    Conversation stranger(*keeper());
    const Answer own = next(stranger, shown("Is there a spoon?", kReuse));
    EXPECT_EQ(own.history.did, kReselect);
}

TEST_F(FollowUp, WhatDecidesIsPartOfTheKey) {
    Conversation conversation(*keeper());
    next(conversation, shown("What is written on the sign?", kReuse));
    const auto follow = [&](const std::function<void(AskRequest&)>& change) {
        AskRequest request = said("And below?", kReuse);
        change(request);
        const Answer answer = next(conversation, request);
        conversation.cut_back(2);
        return answer;
    };
    EXPECT_EQ(follow([](AskRequest& r) { r.generation.max_tokens = 3; }).history.did, kReuse);
    const Answer changed = follow([](AskRequest& r) { r.budget = *parse_budget("50%"); });
    EXPECT_EQ(changed.history.did, kReselect);
    EXPECT_THAT(changed.notes, testing::Contains(HasSubstr("chooses anew")));
    EXPECT_EQ(follow([](AskRequest& r) { r.method = "fastv"; }).history.did, kReselect);
    EXPECT_EQ(follow([](AskRequest& r) { r.vanilla = true; }).history.did, kReselect);
    EXPECT_EQ(follow([](AskRequest& r) { r.select_seed = 3; }).history.did, kReselect);
    // A picture that was not there before has to be read.
    const std::string other = picture(9);
    EXPECT_EQ(follow([&](AskRequest& r) { r.images = {{{}, other}}; }).history.did, kReselect);
}

TEST_F(FollowUp, AutoReusesWhereLittleIsMissed) {
    int n_reused = 0;
    int n_chosen = 0;
    for (const char* budget : {"12", "75%"}) {
        for (const char* question : {"How many cups are on the table?", "What is written on the sign?",
                                     "Is the cup left of the spoon?", "What colour is the wall?"}) {
            Conversation conversation(*keeper());
            AskRequest asked = shown("How many cups are on the table?", kAuto);
            asked.budget = *parse_budget(budget);
            next(conversation, asked);
            AskRequest request = said(question, kAuto);
            request.budget = asked.budget;
            const Answer answer = next(conversation, request);
            ASSERT_TRUE(answer.history.missed);
            EXPECT_GE(*answer.history.missed, 0.0);
            EXPECT_LE(*answer.history.missed, 1.0);
            const bool reuses = *answer.history.missed <= engine::kMaxMissedShare;
            EXPECT_EQ(answer.history.did, reuses ? kReuse : kReselect) << question;
            ++(reuses ? n_reused : n_chosen);
        }
    }
    RecordProperty("reused", n_reused);
    RecordProperty("chosen", n_chosen);
    // With nothing pruned nothing is missed.
    Conversation whole(*keeper());
    AskRequest all = shown("How many cups are on the table?", kAuto);
    all.budget = *parse_budget("none");
    next(whole, all);
    all.images.clear();
    all.question = "Where are they?";
    const Answer answer = next(whole, all);
    EXPECT_EQ(answer.history.missed, 0.0);
    EXPECT_EQ(answer.history.did, kReuse);
}

TEST_F(FollowUp, TextAloneGoesOnToo) {
    Conversation conversation(*keeper());
    Conversation fresh(engine());
    next(conversation, said("Good morning.", kReuse));
    next(fresh, said("Good morning.", kReselect));
    const Answer second = next(conversation, said("What is the capital of France?", kReuse));
    EXPECT_EQ(second.history.did, kReuse);
    EXPECT_LT(test::relative_distance(second.logits,
                                      next(fresh, said("What is the capital of France?", kReselect)).logits),
              1e-2);
}

TEST_F(FollowUp, AnEngineThatKeepsNothingSaysSo) {
    Conversation conversation(engine());
    const Answer first = next(conversation, shown("How many cups are on the table?", kReuse));
    EXPECT_THAT(first.notes, testing::Contains(HasSubstr("nothing of earlier questions is kept")));
    // Too little for a turn: the next one chooses.
    const auto small = load(1000);
    ASSERT_TRUE(small.ok());
    Conversation forgetful(**small);
    next(forgetful, shown("How many cups are on the table?", kReuse));
    EXPECT_EQ(next(forgetful, said("Where are they?", kReuse)).history.did, kReselect);
}

}  // namespace
}  // namespace clasp
