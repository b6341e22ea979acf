// llama-server's fields that change what is told of an answer: progress, timings in every piece, signs of
// life, what was used.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve_fixture.h"

namespace clasp::serve {
namespace {

using base::Json;
using testing::HasSubstr;

class StreamFields : public testing::Test {
   protected:
    static void SetUpTestSuite() { server_ = start_server().release(); }
    static void TearDownTestSuite() { delete server_; }
    static Server* server_;
};
Server* StreamFields::server_ = nullptr;

std::size_t number(const Json& json, const char* name) {
    return json[name].get<std::size_t>().value_or(999'999);
}

TEST_F(StreamFields, TimingsInEveryPieceIfTheyAreAskedFor) {
    Json body = with(with(text_body("Hi?"), "max_tokens", 6), "stream", true);
    body["ignore_eos"] = true;
    for (const Json& event : events_of(chat(*server_, body))) {
        const bool is_last = event["choices"][0]["finish_reason"].is_string();
        EXPECT_EQ(event.contains("timings"), is_last) << base::dump_json(event);
    }
    body["timings_per_token"] = true;
    const std::vector<Json> events = events_of(chat(*server_, body));
    EXPECT_FALSE(events.front().contains("timings"));
    std::size_t n_before = 0;
    for (std::size_t i = 1; i < events.size(); ++i) {
        const Json& timings = events[i]["timings"];
        EXPECT_GT(number(timings, "prompt_n"), 0U);
        EXPECT_GE(number(timings, "predicted_n"), n_before);
        EXPECT_LE(number(timings, "predicted_n"), 6U);
        n_before = number(timings, "predicted_n");
        for (const base::JsonMember& member : timings.items())
            EXPECT_GE(member.value.get<double>().value_or(-1), 0.0) << member.key;
    }
    EXPECT_EQ(n_before, 6U);
}

TEST_F(StreamFields, ProgressOfEveryRouteThatStreamsTextEndsWithTheWholePrompt) {
    const std::string words = "the quick brown fox jumps over the lazy dog " + std::string(64, 'q');
    for (const char* path : {"/v1/chat/completions", "/completion", "/v1/completions"}) {
        const bool is_chat = std::string_view(path).find("chat") != std::string_view::npos;
        Json body = is_chat ? text_body(words) : Json::object({{"prompt", words}});
        for (const auto& [key, value] :
             {std::pair{"stream", Json(true)}, std::pair{"return_progress", Json(true)},
              std::pair{"timings_per_token", Json(true)}, std::pair{"n_predict", Json(2)}})
            body[key] = value;
        const bool has_done = std::string_view(path) != "/completion";
        std::size_t n_pieces = 0;
        Json last;
        for (const Json& event : events_of(send(*server_, path, body), has_done)) {
            if (!event.contains("prompt_progress")) continue;
            last = event["prompt_progress"];
            if (n_pieces++ == 0) {
                EXPECT_EQ(number(last, "processed"), number(last, "cache")) << path;
            }
            EXPECT_LE(number(last, "cache"), number(last, "processed"));
            EXPECT_LE(number(last, "processed"), number(last, "total"));
            EXPECT_EQ(number(event["timings"], "prompt_n"),
                      number(last, "processed") - number(last, "cache"));
            if (number(last, "processed") == number(last, "cache")) {
                EXPECT_EQ(event["timings"]["prompt_ms"], 0.0);
            }
        }
        EXPECT_GE(n_pieces, 2U) << path;
        EXPECT_EQ(number(last, "processed"), number(last, "total")) << path;
    }
}

TEST_F(StreamFields, ASignOfLifeComesAsOftenAsItIsAskedFor) {
    // Something else has the engine meanwhile.
    ServeOptions options = test_options();
    options.parallel = 1;
    const auto server = start_server(options);
    Json longer = with(with(text_body("Tell me a story."), "max_tokens", 1500), "stream", true);
    longer["temperature"] = 2.0;
    longer["ignore_eos"] = true;
    Client busy(server->port());
    busy.send(request_text("POST", "/v1/chat/completions", base::dump_json(longer)));
    ASSERT_THAT(busy.receive_some(), HasSubstr("200 OK"));
    Json body = with(with(text_body("Hi?"), "max_tokens", 1), "stream", true);
    const auto first_bytes = [&](int interval) {
        Client client(server->port());
        client.send(request_text("POST", "/v1/chat/completions",
                                 base::dump_json(with(body, "sse_ping_interval", interval))));
        std::string text;
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1700);
        while (std::chrono::steady_clock::now() < end)
            text += client.receive_some(std::chrono::milliseconds(100));
        return text;
    };
    EXPECT_THAT(first_bytes(1), HasSubstr(":\n\n"));
    EXPECT_EQ(first_bytes(-1).find("\n:\n\n"), std::string::npos);
    busy.close();
    EXPECT_EQ(refused(chat(*server_, with(body, "sse_ping_interval", -2))).param, "sse_ping_interval");
    EXPECT_EQ(refused(chat(*server_, with(body, "sse_ping_interval", "1"))).code, "wrong_type");
}

TEST_F(StreamFields, WhatWasUsedIsToldToThoseWhoLookForFaults) {
    Json body = with(with(text_body("What is the best book?"), "max_tokens", 2), "temperature", 0.5);
    EXPECT_FALSE(json_of(chat(*server_, body)).contains("__verbose"));
    body["verbose"] = true;
    const Json told = json_of(chat(*server_, body))["__verbose"];
    EXPECT_THAT(told["prompt"].get<std::string>().value_or(""), HasSubstr("What is the best book?"));
    EXPECT_EQ(told["generation_settings"]["temperature"], 0.5);
    EXPECT_EQ(told["generation_settings"]["max_tokens"], 2);
    body["stream"] = true;
    EXPECT_TRUE(events_of(chat(*server_, body)).back().contains("__verbose"));
    const Json prompt = {{"prompt", "A picture"}, {"max_tokens", 1}, {"verbose", true}};
    EXPECT_EQ(json_of(send(*server_, "/v1/completions", prompt))["__verbose"]["prompt"], "A picture");
}

TEST_F(StreamFields, TokensThatWereThereBeforeAreCountedApart) {
    // The text before a picture is kept.
    Json body = chat_body();
    const Json system = {{"role", "system"}, {"content", "Answer with one word, and nothing else at all."}};
    body["messages"] = Json::array({system, body["messages"][0]});
    const Json first = json_of(chat(*server_, body));
    const Json second = json_of(chat(*server_, body));
    const std::size_t n_cached = number(second["usage"]["prompt_tokens_details"], "cached_tokens");
    EXPECT_GT(n_cached, 8U);
    EXPECT_EQ(number(second["clasp"]["cache"], "prefix_tokens"), n_cached);
    EXPECT_EQ(number(second["timings"], "cache_n"), n_cached);
    EXPECT_EQ(number(second["timings"], "prompt_n") + n_cached, number(second["usage"], "prompt_tokens"));
    EXPECT_EQ(first["usage"]["prompt_tokens"], second["usage"]["prompt_tokens"]);
    EXPECT_EQ(first["choices"][0]["message"], second["choices"][0]["message"]);
}

TEST_F(StreamFields, SeveralAnswersReadThePromptOnce) {
    Json body = with(chat_body(), "n", 4);
    body["stream"] = true;
    body["return_progress"] = true;
    body["temperature"] = 1.5;
    std::size_t n_begun = 0;
    for (const Json& event : events_of(chat(*server_, body))) {
        const Json& progress = event["prompt_progress"];
        const bool is_reading = !progress.is_null() && event["clasp"]["stage"] == "prefill";
        if (is_reading && number(progress, "processed") == number(progress, "cache")) ++n_begun;
    }
    EXPECT_EQ(n_begun, 1U);
    // Each is what its seed gives alone.
    body["stream"] = false;
    body["seed"] = 7;
    const Json together = json_of(chat(*server_, body));
    ASSERT_EQ(together["choices"].size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) {
        const Json alone = json_of(chat(*server_, with(with(body, "n", 1), "seed", 7 + i)));
        EXPECT_EQ(together["choices"][i]["message"], alone["choices"][0]["message"]) << i;
        EXPECT_EQ(together["choices"][i]["index"], i);
    }
}

}  // namespace
}  // namespace clasp::serve
