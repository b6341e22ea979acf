// When a request has to end: by its caller's flag, by its deadline, by how long it may take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <optional>
#include <thread>

#include "engine/stop_flag.h"
#include "engine_fixture.h"

namespace clasp {
namespace {

using engine::StopFlag;
using std::chrono::milliseconds;
using Clock = StopFlag::Clock;

// Far longer than anything here may take, and still an end to a test that fails.
constexpr std::chrono::seconds kPatience{60};

bool comes_true(const std::atomic<bool>& flag) {
    const auto until = Clock::now() + kPatience;
    while (!flag && Clock::now() < until) std::this_thread::sleep_for(milliseconds(1));
    return flag;
}

TEST(StopFlag, IsTheCallersWithoutADeadline) {
    const std::atomic<bool> cancel = true;
    EXPECT_EQ(StopFlag(nullptr, std::nullopt).flag(), nullptr);
    const StopFlag stop(&cancel, std::nullopt);
    EXPECT_EQ(stop.flag(), &cancel);
    EXPECT_FALSE(stop.has_timed_out());
}

TEST(StopFlag, IsSetFromTheStartBehindADeadlineThatIsPast) {
    const StopFlag stop(nullptr, Clock::now() - milliseconds(1));
    EXPECT_TRUE(*stop.flag());
    EXPECT_TRUE(stop.has_timed_out());
}

TEST(StopFlag, IsSetWhenTheDeadlinePasses) {
    const auto deadline = Clock::now() + milliseconds(20);
    const std::atomic<bool> cancel = false;
    for (const std::atomic<bool>* callers : {static_cast<const std::atomic<bool>*>(nullptr), &cancel}) {
        const StopFlag stop(callers, deadline);
        ASSERT_TRUE(comes_true(*stop.flag()));
        EXPECT_TRUE(stop.has_timed_out());
        EXPECT_GE(Clock::now(), deadline);
    }
}

TEST(StopFlag, IsSetByTheCallerLongBeforeTheDeadline) {
    std::atomic<bool> cancel = false;
    const StopFlag stop(&cancel, Clock::now() + std::chrono::hours(1));
    EXPECT_FALSE(*stop.flag());
    cancel = true;
    ASSERT_TRUE(comes_true(*stop.flag()));
    EXPECT_FALSE(stop.has_timed_out());
}

TEST(StopFlag, NobodyWaitsForTheDeadlineOfARequestThatIsOver) {
    const auto begin = Clock::now();
    { const StopFlag stop(nullptr, begin + std::chrono::hours(1)); }
    EXPECT_LT(Clock::now() - begin, kPatience);
}

class DeadlineTest : public EngineTest {
   protected:
    AskRequest long_request() const {
        AskRequest asked = request();
        asked.want_logits = false;
        asked.generation.max_tokens = 400;
        asked.generation.ignores_end = true;
        return asked;
    }

    // What can stop an answer has all the time that it needs to be seen.
    static void let_others_run() { std::this_thread::sleep_for(milliseconds(1)); }

    // An answer that ended before it was whole, with what it had.
    static void expect_beginning(const Answer& answer, const Answer& whole) {
        EXPECT_GT(answer.generated, 0U);
        EXPECT_LT(answer.generated, whole.generated);
        ASSERT_EQ(answer.written.size(), answer.generated);
        for (std::size_t i = 0; i < answer.generated; ++i)
            EXPECT_EQ(answer.written[i].token.id, whole.written[i].token.id) << i;
    }
};

TEST_F(DeadlineTest, APastDeadlineLeavesNoAnswer) {
    AskRequest late = request();
    late.deadline = Clock::now() - milliseconds(1);
    EXPECT_EQ(engine().ask(late).status().code(), Code::Deadline);
    EXPECT_EQ(error_of(late), "the deadline passed before the answer began");
    late.deadline.reset();
    late.max_seconds = 0.0;
    EXPECT_EQ(engine().ask(late).status().code(), Code::Deadline);
    // The earlier of both holds, whichever it is.
    late.deadline = Clock::now() + std::chrono::hours(1);
    EXPECT_EQ(engine().ask(late).status().code(), Code::Deadline);
    late.deadline = Clock::now() - milliseconds(1);
    late.max_seconds = kMaxSeconds;
    EXPECT_EQ(engine().ask(late).status().code(), Code::Deadline);
}

TEST_F(DeadlineTest, AFarDeadlineChangesNothing) {
    const Answer usual = ask(request());
    AskRequest patient = request();
    patient.deadline = Clock::now() + std::chrono::hours(1);
    patient.max_seconds = kMaxSeconds;
    const Answer answer = ask(patient);
    EXPECT_EQ(answer.text, usual.text);
    EXPECT_EQ(answer.logits, usual.logits);
    EXPECT_EQ(answer.stopped, usual.stopped);
}

TEST_F(DeadlineTest, TheTextSoFarIsTheAnswerWhenTheDeadlinePasses) {
    const Answer whole = ask(long_request());
    ASSERT_EQ(whole.generated, 400U);
    for (const bool counts_from_the_question : {false, true}) {
        // The deadline passes behind the first word, however long it takes to get there.
        for (milliseconds time(100);; time *= 2) {
            ASSERT_LT(time, 2 * kPatience);
            AskRequest late = long_request();
            const auto deadline = Clock::now() + time;
            if (counts_from_the_question) {
                late.max_seconds = std::chrono::duration<double>(time).count();
            } else {
                late.deadline = deadline;
            }
            late.on_token = [&](const WrittenToken&) {
                std::this_thread::sleep_until(deadline);
                let_others_run();
            };
            const auto answer = engine().ask(late);
            if (!answer.ok()) {
                ASSERT_EQ(answer.status().code(), Code::Deadline);
                continue;
            }
            if (answer->generated == 0) continue;
            EXPECT_EQ(answer->stopped, Stopped::Deadline);
            expect_beginning(*answer, whole);
            break;
        }
    }
}

TEST_F(DeadlineTest, WhoCancelsBeforeTheDeadlineHasCancelled) {
    const Answer whole = ask(long_request());
    AskRequest cancelled = long_request();
    std::atomic<bool> cancel = false;
    cancelled.cancel = &cancel;
    cancelled.deadline = Clock::now() + std::chrono::hours(1);
    cancelled.on_token = [&](const WrittenToken&) {
        cancel = true;
        let_others_run();
    };
    const Answer answer = ask(cancelled);
    EXPECT_EQ(answer.stopped, Stopped::Cancelled);
    expect_beginning(answer, whole);
    // Set before anything was written: there is no answer.
    EXPECT_EQ(engine().ask(cancelled).status().code(), Code::Cancelled);
}

TEST_F(DeadlineTest, TimesThatCannotBeAreRefused) {
    AskRequest asked = request();
    for (const double seconds : {-1.0, kMaxSeconds * 2, std::numeric_limits<double>::quiet_NaN(),
                                 std::numeric_limits<double>::infinity()}) {
        asked.max_seconds = seconds;
        EXPECT_EQ(engine().ask(asked).status().code(), Code::InvalidArgument) << seconds;
        EXPECT_THAT(error_of(asked), testing::HasSubstr("an answer may take 0 to 86400 seconds"));
    }
}

}  // namespace
}  // namespace clasp
