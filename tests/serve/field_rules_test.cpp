// What a request may say, and by which word it hears that it may not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "serve_fixture.h"

namespace clasp::serve {
namespace {

using base::Json;
using testing::HasSubstr;

class FieldRules : public testing::Test {
   protected:
    static void SetUpTestSuite() { server_ = start_server().release(); }
    static void TearDownTestSuite() { delete server_; }
    static Refused of_clasp(const Json& clasp) {
        return refused(chat(*server_, with(chat_body(), "clasp", clasp)));
    }
    static Json conversation(const std::vector<std::pair<const char*, const char*>>& messages) {
        Json list = Json::array();
        for (const auto& [role, words] : messages) list.push_back({{"role", role}, {"content", words}});
        return Json::object({{"messages", list}, {"max_tokens", 1}});
    }
    static Server* server_;
};
Server* FieldRules::server_ = nullptr;

TEST_F(FieldRules, OurOwnObjectNamesTheFieldAndWhatIsWrongWithIt) {
    EXPECT_EQ(of_clasp({{"budget", 4000}, {"method", "clasp"}}),
              (Refused{400, "out_of_range", "clasp.budget"}));
    EXPECT_EQ(of_clasp({{"budget", 1}, {"method", "fastv"}}),
              (Refused{400, "budget_impossible", "clasp.budget"}));
    EXPECT_EQ(of_clasp(Json::object({{"budget", -1}})), (Refused{400, "out_of_range", "clasp.budget"}));
    EXPECT_EQ(of_clasp(Json::object({{"budget", true}})), (Refused{400, "wrong_type", "clasp.budget"}));
    EXPECT_EQ(of_clasp(Json::object({{"budgett", 1}})),
              (Refused{400, "unsupported_parameter", "clasp.budgett"}));
    EXPECT_EQ(of_clasp(Json::object({{"method", "nothing"}})),
              (Refused{400, "out_of_range", "clasp.method"}));
    EXPECT_EQ(of_clasp(Json::object({{"class", "nothing"}})), (Refused{400, "out_of_range", "clasp.class"}));
    EXPECT_EQ(of_clasp(Json::object({{"fusion", "no"}})), (Refused{400, "wrong_type", "clasp.fusion"}));
    EXPECT_EQ(of_clasp(Json::object({{"max_seconds", 0}})),
              (Refused{400, "out_of_range", "clasp.max_seconds"}));
    EXPECT_EQ(of_clasp(Json::object({{"max_seconds", "1"}})),
              (Refused{400, "wrong_type", "clasp.max_seconds"}));
    EXPECT_EQ(of_clasp(Json::object({{"map", "all"}})), (Refused{400, "out_of_range", "clasp.map"}));
    EXPECT_EQ(of_clasp({{"vanilla", true}, {"budget", 64}}),
              (Refused{400, "unsupported_parameter", "clasp.vanilla"}));
    EXPECT_EQ(of_clasp({{"schedule", "2:300"}, {"budget", 64}}),
              (Refused{400, "unsupported_parameter", "clasp.schedule"}));
    EXPECT_EQ(of_clasp(Json::object({{"schedule", "99:10"}})),
              (Refused{400, "out_of_range", "clasp.schedule"}));
    EXPECT_EQ(refused(chat(*server_, chat_body(), {{"X-Clasp-Budget", "many"}})),
              (Refused{400, "out_of_range", "X-Clasp-Budget"}));
    EXPECT_EQ(refused(chat(*server_, chat_body(), {{"X-Clasp-Method", "nothing"}})).status, 400);
}

TEST_F(FieldRules, WhatWouldChangeTheAnswerAndCannotIsRefused) {
    const Json body = with(text_body("Hi?"), "max_tokens", 1);
    EXPECT_EQ(refused(chat(*server_, with(body, "best_of", 2))),
              (Refused{400, "unsupported_parameter", "best_of"}));
    EXPECT_EQ(chat(*server_, with(body, "best_of", 1)).status, 200);
    EXPECT_EQ(refused(chat(*server_, with(body, "echo", true))).code, "unsupported_parameter");
    EXPECT_EQ(refused(chat(*server_, with(body, "modalities", Json::array({"text", "audio"})))).code,
              "unsupported_parameter");
    EXPECT_EQ(refused(chat(*server_, with(body, "modalities", "audio"))).code, "wrong_type");
    EXPECT_EQ(refused(chat(*server_, with(body, "add_generation_prompt", false))).param,
              "add_generation_prompt");
    EXPECT_EQ(refused(chat(*server_, with(body, "continue_final_message", true))).param,
              "continue_final_message");
}

TEST_F(FieldRules, AnswersAreAsLongAsTheServerAllowsAndNoLonger) {
    struct Way {
        const char* path;
        Json body;
        const char* name;
    };
    const Json hello = text_body("Hi?");
    for (const Way& way : {Way{"/v1/chat/completions", hello, "max_tokens"},
                           Way{"/v1/chat/completions", hello, "max_completion_tokens"},
                           Way{"/completion", Json::object({{"prompt", "Hi?"}}), "n_predict"},
                           Way{"/v1/messages", hello, "max_tokens"},
                           Way{"/v1/responses", Json::object({{"input", "Hi?"}}), "max_output_tokens"}}) {
        EXPECT_EQ(send(*server_, way.path, with(way.body, way.name, 4096)).status, 200) << way.path;
        EXPECT_EQ(send(*server_, way.path, with(way.body, way.name, 4097)).status, 400) << way.path;
        EXPECT_EQ(send(*server_, way.path, with(way.body, way.name, 0)).status, 400) << way.path;
    }
    EXPECT_EQ(refused(chat(*server_, with(hello, "max_tokens", 4097))),
              (Refused{400, "out_of_range", "max_tokens"}));
}

TEST(MaxTokens, TheUsualLengthIsNoLimit) {
    ServeOptions options = test_options();
    options.limits.usual_output_tokens = 3;
    const auto server = start_server(options);
    const Json body = with(text_body("Hi?"), "ignore_eos", true);
    EXPECT_EQ(json_of(chat(*server, body))["usage"]["completion_tokens"], 3);
    EXPECT_EQ(json_of(chat(*server, with(body, "max_tokens", 5)))["usage"]["completion_tokens"], 5);
    EXPECT_EQ(json_of(get(server->port(), "/props"))["default_generation_settings"]["params"]["max_tokens"],
              3);
}

TEST_F(FieldRules, SystemMessagesStandInFrontAndNeighboursAreOne) {
    const auto prompt = [](const Json& body) {
        return json_of(send(*server_, "/apply-template", body))["prompt"].get<std::string>().value_or("?");
    };
    const std::string usual =
        prompt(conversation({{"system", "Be brief.\nBe kind."}, {"user", "Hi?\nWho?"}}));
    EXPECT_EQ(prompt(conversation(
                  {{"system", "Be brief."}, {"developer", "Be kind."}, {"user", "Hi?"}, {"user", "Who?"}})),
              usual);
    EXPECT_EQ(prompt(conversation(
                  {{"user", "Hi?"}, {"system", "Be brief."}, {"user", "Who?"}, {"system", "Be kind."}})),
              usual);
    EXPECT_EQ(
        refused(chat(*server_, conversation({{"user", "a"}, {"assistant", "b"}, {"assistant", "c"}}))).status,
        400);
    EXPECT_EQ(refused(chat(*server_, conversation({{"system", "a"}}))).status, 400);
}

TEST_F(FieldRules, BlankWordsDoNotTakeTurnsWithPictures) {
    const auto user = [](Json content) {
        return Json::object({{"role", "user"}, {"content", std::move(content)}});
    };
    const auto text = [](const char* words) { return Json::object({{"type", "text"}, {"text", words}}); };
    const Json image = {{"type", "image_url"}, {"image_url", data_url()}};
    const auto prompt = [](const Json& messages) {
        const Json body = Json::object({{"messages", messages}});
        return json_of(send(*server_, "/apply-template", body))["prompt"].get<std::string>().value_or("?");
    };
    const std::string usual = prompt(Json::array({user(Json::array({image, text("Is it red?")}))}));
    for (const char* blank : {"", " \n"}) {
        for (const Json& messages :
             {Json::array({user(Json::array({text("Is it red?"), image, text(blank)}))}),
              Json::array({user(Json::array({text(blank), image, text("Is it red?")}))}),
              // A message for each part, as LangChain sends them to Ollama.
              Json::array({user("Is it red?"), user(Json::array({image, text(blank)}))}),
              Json::array({user(Json::array({image, text(blank)})), user("Is it red?")})}) {
            EXPECT_EQ(prompt(messages), usual) << messages;
        }
    }
    EXPECT_EQ(refused(chat(*server_,
                           Json::object({{"messages", Json::array({user(Json::array({image, text("")}))})}})))
                  .code,
              "missing");
}

TEST_F(FieldRules, ToolsThatAreNotToBeUsedAreNoMatter) {
    const Json tools = Json::array({Json::object({{"name", "f"}, {"input_schema", Json::object()}})});
    Json body = with(with(text_body("Hi?"), "max_tokens", 1), "tools", tools);
    EXPECT_EQ(send(*server_, "/v1/messages", body).status, 400);
    body["tool_choice"] = Json::object({{"type", "none"}});
    EXPECT_EQ(send(*server_, "/v1/messages", body).status, 200);
    Json old = with(with(text_body("Hi?"), "max_tokens", 1), "functions", tools);
    EXPECT_EQ(refused(chat(*server_, old)), (Refused{400, "unsupported_parameter", "functions"}));
    EXPECT_EQ(chat(*server_, with(old, "function_call", "none")).status, 200);
    ServeOptions options = test_options();
    options.ignores_tools = true;
    const auto lenient = start_server(options);
    EXPECT_EQ(chat(*lenient, old).status, 200);
    EXPECT_EQ(
        send(*lenient, "/api/chat", with(with(text_body("Hi?"), "tools", tools), "stream", false)).status,
        200);
}

TEST(DetailBudget, IsForPicturesOfThatDetailWhereNothingElseIsSaid) {
    ServeOptions options = test_options();
    options.detail_budgets = {{"low", *parse_budget("25%")}, {"high", *parse_budget("none")}};
    const auto server = start_server(options);
    const auto budget = [&](const char* detail, const Json& clasp = {}, const Headers& headers = {}) {
        Json body = chat_body();
        body["messages"][0]["content"][1]["image_url"]["detail"] = detail;
        if (!clasp.is_null()) body["clasp"] = clasp;
        return json_of(chat(*server, body, headers))["clasp"]["budget"];
    };
    EXPECT_EQ(budget("low")["asked"], "25%");
    EXPECT_EQ(budget("low")["by"], "detail");
    EXPECT_EQ(budget("high")["asked"], "none");
    EXPECT_EQ(budget("auto")["asked"], "33%");
    EXPECT_EQ(budget("low", Json::object({{"budget", 64}}))["asked"], "64");
    EXPECT_EQ(budget("low", {}, {{"X-Clasp-Budget", "100"}})["asked"], "100");
    const Json part = {{"type", "input_image"}, {"image_url", data_url()}, {"detail", "low"}};
    const Json words = {{"type", "input_text"}, {"text", kQuestion}};
    const Json item = {{"role", "user"}, {"content", Json::array({part, words})}};
    const Json reply =
        json_of(send(*server, "/v1/responses", Json::object({{"input", Json::array({item})}})));
    EXPECT_EQ(reply["clasp"]["budget"]["asked"], "25%");
    // Without the option nobody's detail costs accuracy.
    const auto plain = start_server();
    Json body = chat_body();
    body["messages"][0]["content"][1]["image_url"]["detail"] = "low";
    EXPECT_EQ(json_of(chat(*plain, body))["clasp"]["budget"]["by"], "default");
}

TEST(ContextSize, IsTheRequestsAndToldEverywhere) {
    ServeOptions options = test_options();
    options.context = 128;
    const auto server = start_server(options);
    const Reply reply = chat(*server, text_body(std::string(400, 'q') + " what is it?"));
    EXPECT_EQ(refused(reply).code, "context_length_exceeded");
    EXPECT_EQ(json_of(reply)["error"]["n_ctx"], 128);
    EXPECT_EQ(json_of(get(server->port(), "/props"))["default_generation_settings"]["n_ctx"], 128);
    const Json entry = json_of(get(server->port(), "/v1/models"))["data"][0];
    EXPECT_EQ(entry["max_model_len"], 128);
    EXPECT_EQ(entry["meta"]["n_ctx_train"], 2048);
    EXPECT_GT(entry["meta"]["n_params"].get<std::size_t>().value_or(0), 1'000'000U);
    EXPECT_GT(entry["meta"]["n_vocab"].get<std::size_t>().value_or(0), 100U);
    EXPECT_TRUE(entry["meta"].contains("vocab_type"));
}

TEST(Loading, EverythingButThePageSaysThatTheModelIsNotThereYet) {
    ServeOptions options = test_options();
    ASSERT_TRUE(options.access.keys.add("secret").ok());
    Server server(options);
    ASSERT_TRUE(server.start().ok());
    const Headers key = {{"Authorization", "Bearer secret"}};
    for (const char* path : {"/health", "/v1/health"}) {
        const Reply reply = get(server.port(), path);
        EXPECT_EQ(refused(reply), (Refused{503, "loading", ""}));
        EXPECT_THAT(reply.body, HasSubstr("Loading model"));
        EXPECT_EQ(reply.header("Retry-After"), "1");
    }
    EXPECT_EQ(get(server.port(), "/").status, 200);
    EXPECT_EQ(get(server.port(), "/v1/models").status, 401);
    EXPECT_EQ(refused(get(server.port(), "/v1/models", key)), (Refused{503, "loading", ""}));
    EXPECT_EQ(refused(chat(server, chat_body(), key)).code, "loading");
    EXPECT_THAT(get(server.port(), "/api/tags", key).body, HasSubstr(R"({"error":"Loading model"})"));
    server.open(tiny_engine());
    EXPECT_EQ(get(server.port(), "/health").status, 200);
    EXPECT_EQ(chat(server, chat_body(), key).status, 200);
}

TEST(CacheScope, KeysDoNotLearnFromTheTimeWhatOthersSent) {
    ServeOptions options = test_options();
    options.is_cache_apart = true;
    for (const char* key : {"one", "two"}) ASSERT_TRUE(options.access.keys.add(key).ok());
    const auto server = start_server(options);
    const auto cache = [&](const std::string& key) {
        return json_of(chat(*server, with(chat_body(kQuestion, data_url("beach.png")), "max_tokens", 1),
                            {{"Authorization", "Bearer " + key}}))["clasp"]["cache"];
    };
    EXPECT_EQ(cache("one")["features"], "miss");
    EXPECT_EQ(cache("one")["features"], "hit");
    const Json other = cache("two");
    EXPECT_EQ(other["features"], "miss");
    EXPECT_EQ(other["prefix_tokens"], 0);
    EXPECT_EQ(cache("two")["features"], "hit");
    const Json picture = Json::object({{"image", data_url("key.png")}});
    const auto ahead = [&](const std::string& key) {
        return json_of(
            send(*server, "/clasp/encode", picture, {{"Authorization", "Bearer " + key}}))["state"];
    };
    ahead("one");
    for (int i = 0; i < 500 && ahead("one") != Json("cached"); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(ahead("one"), "cached");
    EXPECT_EQ(ahead("two"), "queued");
}

TEST(Log, SaysWhatARequestTookAndNeverWhatItSaid) {
    std::mutex mutex;
    std::string lines;
    ServeOptions options = test_options();
    options.log = [&](LogLevel, std::string_view line) {
        const std::lock_guard lock(mutex);
        lines += std::string(line) + "\n";
    };
    const std::string trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    {
        const auto server = start_server(options);
        chat(*server, chat_body(), {{"traceparent", trace}, {"X-Request-Id", "mine"}});
        chat(*server, with(chat_body(), "stream", true), {{"traceparent", "00-bad"}});
        get(server->port(), "/nothing?secret=query");
    }
    EXPECT_THAT(lines, HasSubstr("mine POST /v1/chat/completions 200 "));
    EXPECT_THAT(lines, HasSubstr(" prompt="));
    EXPECT_THAT(lines, HasSubstr(" encode="));
    EXPECT_THAT(lines, HasSubstr("/576 class="));
    EXPECT_THAT(lines, HasSubstr("traceparent=" + trace));
    EXPECT_THAT(lines, HasSubstr("GET /nothing 404 "));
    EXPECT_THAT(lines, HasSubstr("code=no_such_route"));
    for (const char* word : {"crosses", "secret", "00-bad", " 0 bytes"})
        EXPECT_EQ(lines.find(word), std::string::npos) << word << "\n" << lines;
    lines.clear();
    options.logs_content = true;
    {
        const auto server = start_server(options);
        chat(*server, chat_body());
    }
    EXPECT_THAT(lines, HasSubstr("question: " + kQuestion));
    EXPECT_THAT(lines, HasSubstr("answer: 6"));
}

}  // namespace
}  // namespace clasp::serve
