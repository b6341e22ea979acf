// Turns of the one thread that owns the engine: who goes first, what a client that leaves costs, how it ends.
#include "serve/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "request/option_table.h"
#include "serve/queue.h"
#include "serve_fixture.h"
#include "support/bmp.h"

namespace clasp::serve {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;

TEST(FairQueue, ClientsTakeTurnsAndKeepTheirOwnOrder) {
    FairQueue<std::string> queue;
    for (const char* item : {"a1", "a2", "a3"}) queue.push("a", item);
    queue.push("b", "b1");
    queue.push("c", "c1");
    queue.push("b", "b2");
    EXPECT_EQ(queue.size(), 6U);
    std::vector<std::string> order;
    while (const auto item = queue.pop()) order.push_back(*item);
    EXPECT_THAT(order, ElementsAre("a1", "b1", "c1", "a2", "b2", "a3"));
    EXPECT_EQ(queue.front(), nullptr);
}

TEST(FairQueue, GivesOutWhatIsWanted) {
    FairQueue<std::string> queue;
    for (const char* item : {"a1", "a2"}) queue.push("a", item);
    queue.push("b", "b1");
    const auto taken = queue.take_if([](const std::string& item) { return item != "a2"; });
    EXPECT_THAT(taken, ElementsAre("a1", "b1"));
    EXPECT_EQ(queue.size(), 1U);
    EXPECT_EQ(*queue.pop(), "a2");
}

// A request that goes on for as long as the context does.
Submission long_request(const std::string& client = "a", std::size_t max_tokens = 1200) {
    Submission submission;
    submission.request = request::default_settings().request;
    submission.request.question = "Tell me everything.";
    submission.request.generation.max_tokens = max_tokens;
    submission.request.generation.ignores_end = true;
    submission.has_max_tokens = true;
    submission.client = client;
    return submission;
}

SchedulerOptions options_for(std::size_t parallel) {
    SchedulerOptions options;
    options.parallel = parallel;
    return options;
}

std::shared_ptr<Job> submit(Scheduler& scheduler, Submission submission) {
    std::shared_ptr<Job> job;
    PlannedRequest planned;
    const Check refusal = scheduler.submit(std::move(submission), job, planned);
    EXPECT_FALSE(refusal) << refusal->message;
    return job;
}

void wait_until_running(const Scheduler& scheduler, std::size_t n) {
    for (int i = 0; i < 1000 && scheduler.counts().n_running < n; ++i)
        std::this_thread::sleep_for(milliseconds(5));
    EXPECT_GE(scheduler.counts().n_running, n);
}

bool is_over_within(Job& job, milliseconds time) {
    const auto until = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < until) {
        if (job.wait(milliseconds(20)).is_over) return true;
    }
    return false;
}

TEST(Scheduler, ACancelledRequestGivesItsPlaceAndMemoryBack) {
    Scheduler scheduler(tiny_engine(), options_for(1));
    const auto first = submit(scheduler, long_request());
    const auto second = submit(scheduler, long_request());
    wait_until_running(scheduler, 1);
    EXPECT_GT(scheduler.counts().kv_bytes, 0U);
    EXPECT_EQ(scheduler.counts().n_waiting, 1U);
    second->cancel();  // while it waits
    EXPECT_TRUE(is_over_within(*second, milliseconds(5000)));
    EXPECT_EQ(second->answer(), nullptr);
    first->cancel();  // while it is read or written
    EXPECT_TRUE(is_over_within(*first, milliseconds(5000)));
    EXPECT_TRUE(scheduler.wait_until_idle(milliseconds(5000)));
    const SchedulerCounts counts = scheduler.counts();
    EXPECT_EQ(counts.n_running, 0U);
    EXPECT_EQ(counts.n_waiting, 0U);
    EXPECT_EQ(counts.kv_bytes, 0U);
    EXPECT_EQ(counts.n_cancelled, 2U);
}

TEST(Scheduler, SeveralWriteInOneGraph) {
    Scheduler scheduler(tiny_engine(), options_for(4));
    std::vector<std::shared_ptr<Job>> jobs;
    for (int i = 0; i < 4; ++i) jobs.push_back(submit(scheduler, long_request("a", 40)));
    for (const auto& job : jobs) EXPECT_TRUE(is_over_within(*job, milliseconds(60'000)));
    const SchedulerCounts counts = scheduler.counts();
    EXPECT_GT(counts.n_decode_tokens, counts.n_decode_steps);
}

TEST(Scheduler, AShortRequestIsNotHeldUpByALongOne) {
    Scheduler scheduler(tiny_engine(), options_for(2));
    const auto longer = submit(scheduler, long_request("a"));
    wait_until_running(scheduler, 1);
    const auto shorter = submit(scheduler, long_request("b", 2));
    EXPECT_TRUE(is_over_within(*shorter, milliseconds(30'000)));
    EXPECT_EQ(scheduler.counts().n_running, 1U);  // the long one goes on
    longer->cancel();
    EXPECT_TRUE(is_over_within(*longer, milliseconds(5000)));
}

TEST(Scheduler, QueueAndShareOfAClientAtTheLimitAndOneAbove) {
    SchedulerOptions options = options_for(1);
    options.limits.max_queue = 3;
    options.limits.max_per_client = 3;
    Scheduler scheduler(tiny_engine(), options);
    std::vector<std::shared_ptr<Job>> jobs = {submit(scheduler, long_request("a"))};
    wait_until_running(scheduler, 1);
    jobs.push_back(submit(scheduler, long_request("a")));
    jobs.push_back(submit(scheduler, long_request("a")));
    std::shared_ptr<Job> none;
    PlannedRequest planned;
    const Check too_many = scheduler.submit(long_request("a"), none, planned);
    ASSERT_TRUE(too_many);
    EXPECT_EQ(too_many->status, 429);
    EXPECT_EQ(too_many->code, "too_many_requests");
    EXPECT_GE(too_many->retry_after_s, 1);
    jobs.push_back(submit(scheduler, long_request("b")));
    const Check full = scheduler.submit(long_request("b"), none, planned);
    ASSERT_TRUE(full);
    EXPECT_EQ(full->status, 503);
    EXPECT_EQ(full->code, "queue_full");
    EXPECT_EQ(none, nullptr);
    for (const auto& job : jobs) job->cancel();
}

TEST(Scheduler, MemoryIsReservedBeforeARequestRuns) {
    PlannedRequest planned;
    std::shared_ptr<Job> job;
    SchedulerOptions options = options_for(4);
    {
        Scheduler unlimited(tiny_engine(), options);
        job = submit(unlimited, long_request());
        wait_until_running(unlimited, 1);
        options.max_kv_bytes = unlimited.counts().kv_bytes;
        job->cancel();
    }
    Scheduler scheduler(tiny_engine(), options);
    const auto first = submit(scheduler, long_request("a"));
    const auto second = submit(scheduler, long_request("b"));
    wait_until_running(scheduler, 1);
    EXPECT_EQ(scheduler.counts().n_waiting, 1U);  // there are places, but no memory
    first->cancel();
    EXPECT_TRUE(is_over_within(*first, milliseconds(5000)));
    wait_until_running(scheduler, 1);
    second->cancel();
    const Check never = scheduler.submit(long_request("a", 1400), job, planned);
    ASSERT_TRUE(never);
    EXPECT_EQ(never->status, 400);
}

TEST(Scheduler, DrainingRefusesWhatWaitsAndFinishesWhatRuns) {
    Scheduler scheduler(tiny_engine(), options_for(1));
    const auto first = submit(scheduler, long_request("a", 300));
    wait_until_running(scheduler, 1);
    const auto second = submit(scheduler, long_request("b"));
    scheduler.drain();
    EXPECT_TRUE(is_over_within(*second, milliseconds(10'000)));
    ASSERT_EQ(second->answer(), nullptr);
    EXPECT_EQ(second->refusal().code, "draining");
    std::shared_ptr<Job> none;
    PlannedRequest planned;
    const Check refusal = scheduler.submit(long_request("a"), none, planned);
    ASSERT_TRUE(refusal);
    EXPECT_EQ(refusal->code, "draining");
    EXPECT_TRUE(scheduler.wait_until_idle(milliseconds(60'000)));
    EXPECT_TRUE(is_over_within(*first, milliseconds(100)));
    EXPECT_NE(first->answer(), nullptr);
}

TEST(Scheduler, ARequestThatTakesTooLongEndsWithWhatItHas) {
    // By the server's limit, and by the request's own where that is shorter.
    for (const bool says_so_itself : {false, true}) {
        SchedulerOptions options = options_for(1);
        Submission submission = long_request("a", 1400);
        if (says_so_itself) {
            submission.request.max_seconds = 0.1;
        } else {
            options.limits.max_request = milliseconds(100);
            submission.request.max_seconds = kMaxSeconds;
        }
        Scheduler scheduler(tiny_engine(), options);
        const auto job = submit(scheduler, std::move(submission));
        ASSERT_TRUE(is_over_within(*job, milliseconds(60'000)));
        if (job->answer() != nullptr) {
            EXPECT_EQ(job->answer()->stopped, Stopped::Deadline);
        } else {  // it was not even read by then
            EXPECT_EQ(job->refusal().code, "request_too_long");
        }
    }
}

TEST(Scheduler, ARequestThatWaitsTooLongIsRefusedAndWhatRunsGoesOn) {
    SchedulerOptions options = options_for(1);
    options.limits.max_wait = milliseconds(50);
    Scheduler scheduler(tiny_engine(), options);
    // On a busy machine the first one may wait too long as well.
    std::shared_ptr<Job> busy;
    for (int tries = 0; tries < 100 && scheduler.counts().n_running == 0; ++tries) {
        busy = submit(scheduler, long_request("a", 1400));
        while (!busy->is_over() && scheduler.counts().n_running == 0)
            std::this_thread::sleep_for(milliseconds(1));
    }
    const auto late = submit(scheduler, long_request("b", 2));
    ASSERT_TRUE(is_over_within(*late, milliseconds(60'000)));
    ASSERT_EQ(late->answer(), nullptr);
    EXPECT_EQ(late->refusal().status, 503);
    EXPECT_EQ(late->refusal().code, "queue_full");
    EXPECT_FALSE(busy->is_over());
    busy->cancel();
    EXPECT_TRUE(is_over_within(*busy, milliseconds(5000)));
}

// A question about a picture that the engine has not seen: its size makes it another one.
Submission about_picture(std::list<std::string> pictures, const std::string& client) {
    Submission submission = long_request(client, 2);
    const auto bytes = std::make_shared<const std::list<std::string>>(std::move(pictures));
    submission.pictures = bytes;
    for (const std::string& picture : *bytes)
        submission.request.images.push_back({.path = {}, .bytes = picture});
    return submission;
}

std::string new_picture() {
    static std::uint32_t seed = 0;
    ++seed;
    return test::make_bmp(64, 48, [](std::uint32_t value) { return value * seed % 251; });
}

TEST(Scheduler, PicturesThatWaitAtTheLimitAndOneByteAbove) {
    SchedulerOptions options = options_for(1);
    const std::size_t n_bytes = new_picture().size();
    for (const std::size_t limit : {2 * n_bytes, 2 * n_bytes - 1}) {
        options.limits.max_queue_bytes = limit;
        Scheduler scheduler(tiny_engine(), options);
        std::vector<std::shared_ptr<Job>> jobs = {submit(scheduler, long_request("z"))};
        wait_until_running(scheduler, 1);
        jobs.push_back(submit(scheduler, about_picture({new_picture()}, "a")));
        std::shared_ptr<Job> second;
        PlannedRequest planned;
        const Check refusal = scheduler.submit(about_picture({new_picture()}, "b"), second, planned);
        EXPECT_EQ(refusal.has_value(), limit < 2 * n_bytes);
        if (refusal) {
            EXPECT_EQ(refusal->status, 503);
            EXPECT_EQ(refusal->code, "queue_full");
        } else {
            jobs.push_back(second);
        }
        jobs.push_back(submit(scheduler, long_request("c")));  // words have no bytes to count
        for (const auto& job : jobs) job->cancel();
        for (const auto& job : jobs) EXPECT_TRUE(is_over_within(*job, milliseconds(10'000)));
        // What has left makes room.
        const auto later = submit(scheduler, about_picture({new_picture()}, "a"));
        EXPECT_TRUE(is_over_within(*later, milliseconds(60'000)));
        EXPECT_NE(later->answer(), nullptr);
    }
}

TEST(Scheduler, RequestsGoOnWritingWhileAPictureIsEncoded) {
    Scheduler scheduler(tiny_engine(), options_for(2));
    const auto writer = submit(scheduler, long_request("a"));
    for (int i = 0; i < 1000 && scheduler.counts().n_decode_steps < 3; ++i)
        std::this_thread::sleep_for(milliseconds(2));
    const auto asked = submit(scheduler, about_picture({new_picture()}, "b"));
    EXPECT_TRUE(is_over_within(*asked, milliseconds(60'000)));
    EXPECT_NE(asked->answer(), nullptr);
    EXPECT_GT(scheduler.counts().n_steps_between_blocks, 0U);
    writer->cancel();
    EXPECT_TRUE(is_over_within(*writer, milliseconds(5000)));
}

TEST(Scheduler, WhatHasNothingToEncodePassesWhatHasTwice) {
    Scheduler scheduler(tiny_engine(), options_for(1));
    const std::string known = new_picture();
    EXPECT_TRUE(is_over_within(*submit(scheduler, about_picture({known}, "a")), milliseconds(60'000)));
    const auto busy = submit(scheduler, long_request("z"));
    wait_until_running(scheduler, 1);
    const auto picture = submit(scheduler, about_picture({new_picture()}, "a"));
    // About a picture that was encoded lately: words alone would be read beside the new one.
    std::vector<std::shared_ptr<Job>> quick;
    for (const char* client : {"b", "c", "d"})
        quick.push_back(submit(scheduler, about_picture({known}, client)));
    busy->cancel();
    for (const auto& job : {busy, picture, quick[0], quick[1], quick[2]})
        EXPECT_TRUE(is_over_within(*job, milliseconds(60'000)));
    // All came at about the same time, the picture first.
    EXPECT_LT(quick[0]->queue_ms(), picture->queue_ms());
    EXPECT_LT(quick[1]->queue_ms(), picture->queue_ms());
    EXPECT_GT(quick[2]->queue_ms(), picture->queue_ms());
}

TEST(Scheduler, APictureThatWasEncodedLatelyPassesToo) {
    Scheduler scheduler(tiny_engine(), options_for(1));
    const std::string known = new_picture();
    EXPECT_TRUE(is_over_within(*submit(scheduler, about_picture({known}, "a")), milliseconds(60'000)));
    const auto busy = submit(scheduler, long_request("z"));
    wait_until_running(scheduler, 1);
    const auto fresh = submit(scheduler, about_picture({new_picture()}, "a"));
    const auto again = submit(scheduler, about_picture({known}, "b"));
    busy->cancel();
    for (const auto& job : {fresh, again}) EXPECT_TRUE(is_over_within(*job, milliseconds(60'000)));
    EXPECT_LT(again->queue_ms(), fresh->queue_ms());
}

// Its answer ends with the prompt, so that nobody writes.
Submission picture_to_read(const std::string& client) {
    Submission submission = about_picture({new_picture()}, client);
    submission.request.generation.max_tokens = 1;
    return submission;
}

// Milliseconds on one clock.
double now_ms() {
    return std::chrono::duration<double, std::milli>(Job::Clock::now().time_since_epoch()).count();
}

// However many take turns: a question in text alone among those about pictures waits for the piece under way
// and for no more than another one, and gets the answer that it gets alone.
TEST(Scheduler, TextAmongPicturesStartsWithinTwoUnits) {
    for (const std::size_t parallel : {1U, 2U, 4U}) {
        Scheduler scheduler(tiny_engine(), options_for(parallel));
        const auto alone = submit(scheduler, long_request("t", 3));
        EXPECT_TRUE(is_over_within(*alone, milliseconds(60'000)));
        int n_in_time = 0;
        for (int round = 0; round < 8; ++round) {
            std::vector<std::shared_ptr<Job>> pictures;
            for (const char* client : {"a", "b", "c"})
                pictures.push_back(submit(scheduler, picture_to_read(client)));
            const double pictures_at = now_ms();
            wait_until_running(scheduler, 1);
            // On a machine with much else to do the pictures may be over before the question comes.
            const bool is_in_time = !pictures.back()->has_started();
            const double text_at = now_ms();
            const auto text = submit(scheduler, long_request("t", 3));
            EXPECT_TRUE(is_over_within(*text, milliseconds(60'000)));
            ASSERT_NE(text->answer(), nullptr);
            EXPECT_EQ(text->answer()->text, alone->answer()->text);
            for (const auto& picture : pictures) {
                EXPECT_TRUE(is_over_within(*picture, milliseconds(60'000)));
                EXPECT_NE(picture->answer(), nullptr);
            }
            if (!is_in_time) continue;
            ++n_in_time;
            EXPECT_LT(text_at + text->queue_ms(), pictures_at + pictures.back()->queue_ms());
        }
        EXPECT_GE(n_in_time, 4) << parallel;
        EXPECT_LE(scheduler.counts().most_units_before_text, 2U) << parallel;
        EXPECT_TRUE(scheduler.wait_until_idle(milliseconds(5000)));
        EXPECT_EQ(scheduler.counts().kv_bytes, 0U);
    }
}

// Where one writes at a time, the picture beside which a text was read waits for its end.
TEST(Scheduler, TextReadBesideAPictureIsNotWrittenWithIt) {
    Scheduler scheduler(tiny_engine(), options_for(1));
    for (int round = 0; round < 4; ++round) {
        const auto picture = submit(scheduler, about_picture({new_picture()}, "a"));
        wait_until_running(scheduler, 1);
        const auto text = submit(scheduler, long_request("t", 60));
        EXPECT_TRUE(is_over_within(*text, milliseconds(60'000)));
        EXPECT_TRUE(is_over_within(*picture, milliseconds(60'000)));
        EXPECT_NE(picture->answer(), nullptr);
        EXPECT_NE(text->answer(), nullptr);
    }
    const SchedulerCounts counts = scheduler.counts();
    EXPECT_GT(counts.n_decode_steps, 0U);
    EXPECT_EQ(counts.n_decode_tokens, counts.n_decode_steps) << "one row in each graph";
}

// What waits for its place to write can be given up there too.
TEST(Scheduler, APictureThatWaitsToBeWrittenCanBeCancelled) {
    Scheduler scheduler(tiny_engine(), options_for(1));
    const auto picture = submit(scheduler, about_picture({new_picture()}, "a"));
    wait_until_running(scheduler, 1);
    const auto text = submit(scheduler, long_request("t"));
    wait_until_running(scheduler, 2);
    // No more pieces: it is read, and the text still writes.
    std::size_t n_units = 0;
    for (int i = 0; i < 100 && scheduler.counts().n_units != n_units; ++i) {
        n_units = scheduler.counts().n_units;
        std::this_thread::sleep_for(milliseconds(50));
    }
    picture->cancel();
    EXPECT_TRUE(is_over_within(*picture, milliseconds(5000)));
    EXPECT_FALSE(text->is_over());
    text->cancel();
    EXPECT_TRUE(is_over_within(*text, milliseconds(5000)));
    EXPECT_TRUE(scheduler.wait_until_idle(milliseconds(5000)));
    EXPECT_EQ(scheduler.counts().kv_bytes, 0U);
}

// What the prompt before took says nothing about this one: a long one behind a short one would otherwise be
// read in one piece, while everybody waits.
TEST(Scheduler, EveryPromptIsCutFromItsFirstLayerOn) {
    Scheduler scheduler(tiny_engine(), options_for(1));
    const std::size_t n_layers = tiny_engine().info().n_layers;
    std::size_t n_least = 1;  // for what is there before it is read
    for (std::size_t n = 1, done = 0; done < n_layers; n *= 2) {
        done += n;
        ++n_least;
    }
    for (int i = 0; i < 3; ++i) {
        const std::size_t before = scheduler.counts().n_units;
        EXPECT_TRUE(is_over_within(*submit(scheduler, long_request("a", 2)), milliseconds(60'000)));
        EXPECT_GE(scheduler.counts().n_units - before, n_least);
    }
}

TEST(Scheduler, APictureSentAheadMakesWayForAQuestion) {
    Scheduler scheduler(tiny_engine(), options_for(1));
    std::size_t n_in_time = 0;
    for (int i = 0; i < 6; ++i) {
        Submission ahead = about_picture({new_picture(), new_picture(), new_picture()}, "a");
        ahead.encodes_only = true;
        const auto encoding = submit(scheduler, std::move(ahead));
        wait_until_running(scheduler, 1);
        const auto asked = submit(scheduler, about_picture({new_picture()}, "b"));
        // On a machine with much else to do the three may be over before the question comes.
        if (!encoding->is_over()) ++n_in_time;
        EXPECT_TRUE(is_over_within(*asked, milliseconds(60'000)));
        EXPECT_NE(asked->answer(), nullptr);
        EXPECT_TRUE(is_over_within(*encoding, milliseconds(60'000)));
        EXPECT_NE(encoding->answer(), nullptr) << "it came to its end all the same";
    }
    EXPECT_GE(n_in_time, 3U);
    // One that came behind the last block of the last picture found nothing to put back.
    EXPECT_GE(scheduler.counts().n_put_back + 1, n_in_time);
    EXPECT_TRUE(scheduler.wait_until_idle(milliseconds(5000)));
    EXPECT_EQ(scheduler.counts().n_running, 0U);
    EXPECT_EQ(scheduler.counts().kv_bytes, 0U);
}

TEST(Job, AReaderWhoTakesNothingStallsOnlyHimself) {
    RequestLimits limits;
    limits.max_output_bytes = 10;
    limits.max_stall = milliseconds(20);
    Job job(limits, nullptr);
    job.add_text("0123456789");
    std::this_thread::sleep_for(milliseconds(30));
    EXPECT_FALSE(job.is_stalled());  // at the limit
    job.add_text("x");
    EXPECT_FALSE(job.is_stalled());
    std::this_thread::sleep_for(milliseconds(30));
    EXPECT_TRUE(job.is_stalled());
    EXPECT_EQ(job.wait(milliseconds(1)).text, "0123456789x");
    EXPECT_FALSE(job.is_stalled());
}

// Over a socket: whole and streamed, a client that leaves frees its place.
TEST(Server, ADisconnectFreesTheSequence) {
    ServeOptions options = test_options();
    options.parallel = 1;
    const auto server = start_server(options);
    for (const bool streams : {false, true}) {
        base::Json body = text_body("Tell me everything.");
        body["ignore_eos"] = true;
        body["max_tokens"] = 1500;
        body["stream"] = streams;
        const std::size_t before = server->counts().n_cancelled;
        {
            Client client(server->port());
            client.send(request_text("POST", "/v1/chat/completions", base::dump_json(body)));
            for (int i = 0; i < 1000 && server->counts().n_running == 0; ++i)
                std::this_thread::sleep_for(milliseconds(2));
        }
        for (int i = 0; i < 500 && server->counts().n_running > 0; ++i)
            std::this_thread::sleep_for(milliseconds(10));
        EXPECT_EQ(server->counts().n_running, 0U);
        EXPECT_EQ(server->counts().n_cancelled, before + 1) << streams;
    }
    EXPECT_EQ(chat(*server, chat_body()).status, 200);
}

TEST(Server, DrainsAndLetsWhatRunsFinish) {
    const auto server = start_server();
    base::Json body = chat_body("Describe the picture.");
    body["stream"] = true;
    Client client(server->port());
    client.send(request_text("POST", "/v1/chat/completions", base::dump_json(body)));
    for (int i = 0; i < 2000 && server->counts().n_running == 0; ++i)
        std::this_thread::sleep_for(milliseconds(1));
    std::thread drain([&] { EXPECT_TRUE(server->drain(milliseconds(60'000))); });
    const Reply reply = client.receive();
    EXPECT_EQ(reply.status, 200);
    EXPECT_FALSE(events_of(reply).empty());
    drain.join();
    EXPECT_FALSE(Client(server->port()).is_connected());
}

TEST(Server, HealthDoesNotWaitForTheEngine) {
    ServeOptions options = test_options();
    options.parallel = 1;
    const auto server = start_server(options);
    std::vector<std::unique_ptr<Client>> busy;
    base::Json body = text_body("Tell me everything.");
    body["max_tokens"] = 1500;
    body["ignore_eos"] = true;
    for (int i = 0; i < 20; ++i) {
        busy.push_back(std::make_unique<Client>(server->port()));
        busy.back()->send(request_text("POST", "/v1/chat/completions", base::dump_json(body)));
    }
    for (int i = 0; i < 2000 && server->counts().n_waiting == 0; ++i)
        std::this_thread::sleep_for(milliseconds(2));
    EXPECT_EQ(get(server->port(), "/health").status, 200);
    EXPECT_GT(server->counts().n_waiting, 0U) << "health was told after those who were there first";
}

}  // namespace
}  // namespace clasp::serve
