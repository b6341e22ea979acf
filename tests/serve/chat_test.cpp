// Chat completions over real sockets with the embedded model: the same answers as the engine gives by itself,
// streamed as whole, together as alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "request/answer_json.h"
#include "request/option_table.h"
#include "serve_fixture.h"

namespace clasp::serve {
namespace {

using base::Json;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

// What the engine answers without any server, as `ask --json` would print it.
Answer asked(const std::string& question, const std::string& picture, const std::string& budget = "33%") {
    request::Settings settings = request::default_settings();
    const std::array scopes = {request::Scope::Asking};
    EXPECT_TRUE(request::set_option(settings, scopes, "budget", budget).ok());
    AskRequest request = settings.request;
    const std::string bytes = picture.empty() ? "" : picture_bytes(picture);
    if (!bytes.empty()) request.images = {{.path = {}, .bytes = bytes}};
    request.question = question;
    auto answer = tiny_engine().ask(request);
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    return *answer;
}

std::string text_of(const Json& reply) {
    return *reply["choices"][0]["message"]["content"].as_string();
}

std::string streamed_text(const std::vector<Json>& events) {
    std::string text;
    for (const Json& event : events) {
        const std::string* piece = event["choices"][0]["delta"]["content"].as_string();
        if (piece != nullptr) text += *piece;
    }
    return text;
}

TEST(Chat, EqualsTheEngineInTextClassAndKeptTokens) {
    const auto server = start_server();
    for (const char* budget : {"33%", "64", "none"}) {
        for (const std::string& question : {kQuestion, std::string("What is in the picture?")}) {
            Json body = chat_body(question);
            body["clasp"] = {{"budget", budget}, {"map", "stages"}};
            const Reply reply = chat(*server, body);
            ASSERT_EQ(reply.status, 200) << reply.body;
            const Json json = json_of(reply);
            const Answer answer = asked(question, "crosses.png", budget);
            const Json expected = request::answer_json(answer, "tiny");
            EXPECT_EQ(text_of(json), answer.text);
            EXPECT_EQ(json["clasp"]["class"], expected["class"]);
            EXPECT_EQ(json["clasp"]["tokens"], expected["tokens"]);
            EXPECT_EQ(json["clasp"]["mix"], expected["mix"]);
            ASSERT_EQ(json["clasp"]["stages"].size(), answer.stages.size());
            for (std::size_t i = 0; i < answer.stages.size(); ++i) {
                EXPECT_EQ(json["clasp"]["stages"][i]["kept"], expected["stages"][i]["tokens"]);
                EXPECT_EQ(json["clasp"]["stages"][i]["pivots"], expected["stages"][i]["pivots"]);
            }
            EXPECT_EQ(reply.header("X-Clasp-Tokens"),
                      std::to_string(answer.tokens.final) + "/" + std::to_string(answer.tokens.visual));
            EXPECT_THAT(reply.header("X-Clasp-Class"), StartsWith(answer.chosen_class.name + ";"));
        }
    }
}

TEST(Chat, RepliesInOpenAisForm) {
    const auto server = start_server();
    const Reply reply = chat(*server, chat_body());
    ASSERT_EQ(reply.status, 200) << reply.body;
    EXPECT_EQ(reply.header("Content-Type"), "application/json; charset=utf-8");
    EXPECT_EQ(reply.header("X-Content-Type-Options"), "nosniff");
    EXPECT_THAT(reply.header("Server"), StartsWith("clasp-vlm/"));
    const Json json = json_of(reply);
    EXPECT_THAT(*json["id"].as_string(), MatchesRegex("chatcmpl-[0-9a-f]{32}"));
    EXPECT_EQ(json["object"], "chat.completion");
    EXPECT_EQ(json["model"], "tiny");
    EXPECT_THAT(*json["system_fingerprint"].as_string(), StartsWith("b"));
    EXPECT_EQ(json["choices"][0]["finish_reason"], "stop");
    EXPECT_EQ(json["choices"][0]["message"]["role"], "assistant");
    const Json& usage = json["usage"];
    EXPECT_EQ(usage["prompt_tokens_details"]["image_tokens"], 576);
    EXPECT_EQ(usage["total_tokens"],
              *usage["prompt_tokens"].get<int>() + *usage["completion_tokens"].get<int>());
    EXPECT_EQ(json["timings"]["visual_kept_n"], json["clasp"]["tokens"]["final"]);
    EXPECT_EQ(json["timings"]["predicted_n"], usage["completion_tokens"]);
    for (const base::JsonMember& member : json["timings"].items()) {
        ASSERT_TRUE(member.value.is_number()) << member.key;
        EXPECT_GE(*member.value.get<double>(), 0.0) << member.key;
    }
}

TEST(Chat, StreamedEqualsWhole) {
    const auto server = start_server();
    for (const bool with_usage : {false, true}) {
        Json body = chat_body("Describe the picture.");
        body["max_tokens"] = 24;
        const Json whole = json_of(chat(*server, body));
        body["stream"] = true;
        if (with_usage) body["stream_options"] = Json::object({{"include_usage", true}});
        const Reply reply = chat(*server, body);
        EXPECT_EQ(reply.header("Content-Type"), "text/event-stream");
        EXPECT_EQ(reply.header("Cache-Control"), "no-cache");
        const std::vector<Json> events = events_of(reply);
        ASSERT_GE(events.size(), 3U);
        EXPECT_EQ(streamed_text(events), text_of(whole));
        EXPECT_EQ(events[0]["choices"][0]["delta"]["role"], "assistant");
        for (std::size_t i = 0; i < events.size(); ++i) {
            EXPECT_EQ(events[i]["id"], events[0]["id"]);
            EXPECT_EQ(events[i]["object"], "chat.completion.chunk");
            EXPECT_EQ(events[i].contains("clasp"), i + 1 == events.size());
            EXPECT_EQ(events[i].contains("timings"), i + 1 == events.size());
            EXPECT_EQ(events[i]["choices"][0]["delta"].contains("role"), i == 0);
        }
        const Json& last = events.back();
        EXPECT_EQ(last.contains("usage"), with_usage);
        EXPECT_EQ(last["usage"], with_usage ? whole["usage"] : Json());
        EXPECT_EQ(last["clasp"]["tokens"], whole["clasp"]["tokens"]);
        const Json& end = events[events.size() - (with_usage ? 2 : 1)];
        EXPECT_EQ(end["choices"][0]["finish_reason"], whole["choices"][0]["finish_reason"]);
    }
}

TEST(Chat, TogetherEqualsAlone) {
    const auto server = start_server();
    const std::vector<std::string> questions = {kQuestion,
                                                "What is in the picture?",
                                                "Describe the picture.",
                                                "What colour are the crosses?",
                                                "Where are the crosses?",
                                                "Is there a red circle?"};
    const auto body_of = [&](std::size_t i) {
        Json body = chat_body(questions[i]);
        body["clasp"] = {{"budget", i % 2 == 0 ? "64" : "none"}};
        body["max_tokens"] = 16 + static_cast<int>(i);
        return body;
    };
    std::vector<std::string> alone;
    for (std::size_t i = 0; i < questions.size(); ++i)
        alone.push_back(text_of(json_of(chat(*server, body_of(i)))));
    std::vector<std::string> together(questions.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < questions.size(); ++i) {
        threads.emplace_back([&, i] { together[i] = text_of(json_of(chat(*server, body_of(i)))); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(together, alone);
    EXPECT_EQ(server->counts().n_running, 0U);
    EXPECT_EQ(server->counts().kv_bytes, 0U);
}

TEST(Chat, TextAloneAndConversations) {
    const auto server = start_server();
    const Json plain = json_of(chat(*server, text_body("Hello?")));
    EXPECT_EQ(plain["usage"]["prompt_tokens_details"]["image_tokens"], 0);
    EXPECT_EQ(text_of(plain), asked("Hello?", "").text);
    Json body = chat_body();
    Json messages = body["messages"];
    messages.push_back({{"role", "assistant"}, {"content", "6"}});
    messages.push_back({{"role", "user"}, {"content", "And what colour are they?"}});
    body["messages"] = messages;
    json_of(chat(*server, chat_body()));
    const Json second = json_of(chat(*server, body));
    EXPECT_EQ(second["usage"]["prompt_tokens_details"]["image_tokens"], 576);
    EXPECT_EQ(second["clasp"]["timings_ms"]["encode"], 0.0);
}

TEST(Chat, TheBudgetComesFromBodyHeaderTagAndDefaultInThisOrder) {
    const auto server = start_server();
    const auto budget = [&](const char* model, const Headers& headers, const Json& clasp) {
        Json body = chat_body();
        body["model"] = model;
        body["max_tokens"] = 1;
        if (!clasp.is_null()) body["clasp"] = clasp;
        const Json json = json_of(chat(*server, body, headers));
        return *json["clasp"]["budget"]["asked"].as_string() + " by " +
               *json["clasp"]["budget"]["by"].as_string();
    };
    const Headers header = {{"X-Clasp-Budget", "100"}};
    EXPECT_EQ(budget("tiny", {}, Json()), "33% by default");
    EXPECT_EQ(budget("gemma3:12", {}, Json()), "33% by default");
    EXPECT_EQ(budget("tiny:64", {}, Json()), "64 by tag");
    EXPECT_EQ(budget("tiny:50%", {}, Json()), "50% by tag");
    EXPECT_EQ(budget("tiny:vanilla", {}, Json()), "none by tag");
    EXPECT_EQ(budget("tiny:64", header, Json()), "100 by header");
    EXPECT_EQ(budget("tiny:vanilla", header, Json()), "100 by header");
    EXPECT_EQ(budget("tiny:64", header, Json::object({{"budget", 128}})), "128 by body");
    EXPECT_EQ(budget("tiny:64", header, Json::object({{"vanilla", true}})), "none by body");
}

TEST(Chat, ARequestLeavesNothingBehind) {
    const auto server = start_server();
    const Json before = json_of(chat(*server, chat_body()));
    Json other = chat_body();
    other["clasp"] = {{"budget", 64}, {"method", "fastv"}, {"fusion", false}, {"class", 2}};
    const Reply reply = chat(*server, other);
    ASSERT_EQ(reply.status, 200) << reply.body;
    EXPECT_EQ(json_of(reply)["clasp"]["method"], "fastv");
    const Json after = json_of(chat(*server, chat_body()));
    for (const char* field : {"tokens", "class", "method", "mix", "budget"}) {
        EXPECT_EQ(before["clasp"][field], after["clasp"][field]) << field;
    }
}

TEST(Chat, SeveralChoices) {
    const auto server = start_server();
    Json body = chat_body("Describe the picture.");
    body["n"] = 2;
    body["temperature"] = 1.5;
    body["seed"] = 7;
    body["max_tokens"] = 12;
    const Json json = json_of(chat(*server, body));
    ASSERT_EQ(json["choices"].size(), 2U);
    EXPECT_EQ(json["choices"][1]["index"], 1);
    // Each is what its seed gives.
    body["n"] = 1;
    body["seed"] = 8;
    EXPECT_EQ(json_of(chat(*server, body))["choices"][0]["message"], json["choices"][1]["message"]);
}

TEST(Chat, AMapTellsWhereTokensLie) {
    const auto server = start_server();
    Json body = chat_body();
    body["clasp"] = {{"map", "final"}};
    const Json clasp = json_of(chat(*server, body))["clasp"];
    ASSERT_EQ(clasp["images"].size(), 1U);
    EXPECT_EQ(clasp["images"][0]["grid"], Json::array({24, 24}));
    EXPECT_EQ(clasp["images"][0]["area"].size(), 4U);
    EXPECT_EQ(clasp["images"][0]["sha256"].as_string()->size(), 64U);
    ASSERT_EQ(clasp["stages"].size(), 1U);
    EXPECT_EQ(Json(clasp["stages"][0]["kept"].size()), clasp["tokens"]["final"]);
    body["clasp"] = {{"report", false}};
    EXPECT_FALSE(json_of(chat(*server, body)).contains("clasp"));
}

TEST(Chat, ProgressComesBeforeTheFirstWordIfItIsAskedFor) {
    const auto server = start_server();
    Json body = chat_body("What is in the picture?");
    body["stream"] = true;
    body["return_progress"] = true;
    const std::vector<Json> events = events_of(chat(*server, body));
    std::size_t n = 0;
    for (const Json& event : events) n += event.contains("prompt_progress") ? 1U : 0U;
    EXPECT_GE(n, 1U);
}

TEST(Chat, StopsAndLengths) {
    const auto server = start_server();
    Json body = chat_body("Describe the picture.");
    body["max_tokens"] = 1;
    const Json one = json_of(chat(*server, body));
    EXPECT_EQ(one["choices"][0]["finish_reason"], "length");
    EXPECT_EQ(one["usage"]["completion_tokens"], 1);
    body["max_tokens"] = 4096;  // the context ends it
    EXPECT_EQ(chat(*server, body).status, 200);
}

TEST(Models, AreListed) {
    ServeOptions options = test_options();
    options.lists_presets = true;
    options.presets["fast"] = Json::object({{"budget", 64}});
    const auto server = start_server(options);
    for (const char* path : {"/v1/models", "/models", "/v1/models/"}) {
        const Json json = json_of(get(server->port(), path));
        EXPECT_EQ(json["object"], "list");
        EXPECT_EQ(json["data"][0]["id"], "tiny");
        EXPECT_EQ(json["data"].size(), 7U);
        EXPECT_EQ(json["models"].size(), 7U);
    }
    EXPECT_EQ(json_of(get(server->port(), "/v1/models/tiny"))["id"], "tiny");
    EXPECT_EQ(json_of(get(server->port(), "/v1/models/tiny:fast"))["id"], "tiny:fast");
    EXPECT_EQ(get(server->port(), "/v1/models/other").status, 404);
    Json body = chat_body();
    body["model"] = "tiny:fast";
    EXPECT_EQ(json_of(chat(*server, body))["clasp"]["budget"]["asked"], "64");
}

}  // namespace
}  // namespace clasp::serve
