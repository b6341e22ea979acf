// While one request's picture is encoded, others write: no number changes, and the encoding can be given up.
#include <gtest/gtest.h>

#include <limits>

#include "engine/ask_run.h"
#include "engine_fixture.h"

namespace clasp {
namespace {

using engine::AskRun;
using engine::Lane;
using Phase = AskRun::Phase;

class AskPause : public EngineTest {
   protected:
    static std::unique_ptr<AskRun> start(const AskRequest& request) {
        auto plan = engine::plan_ask(engine().state(), request);
        EXPECT_TRUE(plan.ok()) << plan.status().message();
        return std::make_unique<AskRun>(engine().state(), std::move(*plan), base::Stopwatch());
    }
    static void read(AskRun& run, Lane& lane) {
        while (run.phase() == Phase::Read) ASSERT_TRUE(run.read(lane, 3).ok());
    }
    static bool write(AskRun& run, Lane& lane) {
        AskRun* const alone = &run;
        return AskRun::write(lane, std::span(&alone, 1), nullptr).ok();
    }
    static Answer finish(AskRun& run, Lane& lane) {
        read(run, lane);
        while (run.phase() == Phase::Write) EXPECT_TRUE(write(run, lane));
        return run.take_answer();
    }
    // A picture that no test has asked about.
    AskRequest about(const std::string& bytes) const {
        AskRequest asked = request();
        asked.images = {{{}, bytes}};
        return asked;
    }
};

TEST_F(AskPause, OthersWriteBetweenTheBlocks) {
    const std::string first_picture = picture(21);
    const std::string second_picture = picture(22);
    AskRequest writing = about(first_picture);
    writing.generation.max_tokens = 40;
    const Answer written = ask(writing);
    const Answer seen = ask(about(second_picture));
    const std::string other = picture(23);
    ask(about(other));  // the engine keeps one picture: neither of the two is encoded any more

    auto lane = Lane::open(engine().state());
    ASSERT_TRUE(lane.ok());
    const auto writer = start(writing);
    ASSERT_TRUE(writer->see(**lane).ok());
    read(*writer, **lane);
    const auto reader = start(about(second_picture));
    int n_pauses = 0;
    int n_steps = 0;
    ASSERT_TRUE(reader
                    ->see(**lane,
                          [&] {
                              ++n_pauses;
                              if (writer->phase() == Phase::Write && write(*writer, **lane)) ++n_steps;
                              return true;
                          })
                    .ok());
    EXPECT_GE(n_pauses, 10) << "23 blocks";
    EXPECT_GT(n_steps, 0);
    const Answer paused = finish(*reader, **lane);
    const Answer interleaved = finish(*writer, **lane);
    EXPECT_EQ(paused.logits, seen.logits);
    EXPECT_EQ(paused.text, seen.text);
    EXPECT_GT(paused.timings.encode_ms, 0.0);
    EXPECT_EQ(interleaved.text, written.text);
    EXPECT_EQ(interleaved.logits, written.logits);
}

TEST_F(AskPause, WhatIsGivenUpBeginsAnewLater) {
    const std::string bytes = picture(31);
    const Answer expected = ask(about(bytes));
    const std::string other = picture(32);
    ask(about(other));
    auto lane = Lane::open(engine().state());
    ASSERT_TRUE(lane.ok());
    auto run = start(about(bytes));
    int n_pauses = 0;
    const Status status = run->see(**lane, [&] { return ++n_pauses < 3; });
    EXPECT_EQ(status.code(), Code::Cancelled);
    EXPECT_EQ(n_pauses, 3);
    auto plan = run->take_plan();
    run.reset();
    AskRun again(engine().state(), std::move(plan), base::Stopwatch());
    ASSERT_TRUE(again.see(**lane).ok());
    EXPECT_EQ(finish(again, **lane).logits, expected.logits);
}

// A flag that is set in a pause stops the graph that was paused.
TEST_F(AskPause, ACancelledRequestStopsAtTheNextBlock) {
    const std::string bytes = picture(41);
    std::atomic<bool> cancel = false;
    AskRequest asked = about(bytes);
    asked.cancel = &cancel;
    auto lane = Lane::open(engine().state());
    ASSERT_TRUE(lane.ok());
    const auto run = start(asked);
    int n_pauses = 0;
    const Status status = run->see(**lane, [&] {
        cancel = ++n_pauses == 2;
        return true;
    });
    EXPECT_EQ(status.code(), Code::Cancelled);
    EXPECT_EQ(n_pauses, 2);
}

}  // namespace
}  // namespace clasp
