// What the server refuses, each with its status, code and place; and that it goes on afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "serve_fixture.h"

namespace clasp::serve {
namespace {

using base::Json;
using std::chrono::milliseconds;
using testing::HasSubstr;

class Limits : public testing::Test {
   protected:
    static void SetUpTestSuite() { server_ = start_server().release(); }
    static void TearDownTestSuite() { delete server_; }
    static Refused refuse(const Json& body) { return refused(chat(*server_, body)); }
    static Server* server_;
};
Server* Limits::server_ = nullptr;

TEST_F(Limits, HealthAndUnknownPaths) {
    EXPECT_EQ(get(server_->port(), "/health").body, R"({"status":"ok"})");
    EXPECT_EQ(get(server_->port(), "/v1/health").status, 200);
    EXPECT_EQ(refused(get(server_->port(), "/nothing")), (Refused{404, "no_such_route", ""}));
    const Reply reply = get(server_->port(), "/v1/chat/completions");
    EXPECT_EQ(refused(reply), (Refused{405, "method_not_allowed", ""}));
    EXPECT_EQ(reply.header("Allow"), "POST");
    EXPECT_EQ(refused(get(server_->port(), "//v1/models")).status, 404);
    EXPECT_EQ(refused(get(server_->port(), "/v1/../v1/models")).status, 404);
}

TEST_F(Limits, BodiesThatAreNoRequests) {
    const auto send = [&](std::string_view text) {
        return refused(post(server_->port(), "/v1/chat/completions", text));
    };
    for (const char* text : {"", "{", "[]", "1", "{\"messages\": [}", "{\"a\":1,\"a\":2}", "\xff\xfe"}) {
        EXPECT_EQ(send(text), (Refused{400, "invalid_json", ""})) << text;
    }
    EXPECT_EQ(send("{}"), (Refused{400, "missing", "messages"}));
    EXPECT_EQ(send("{\"messages\": []}").code, "wrong_type");
    // Depth 32 and 33: the object itself is one.
    EXPECT_EQ(send("{\"x\":" + std::string(31, '[') + std::string(31, ']') + "}").code, "missing");
    EXPECT_EQ(send("{\"x\":" + std::string(32, '[') + std::string(32, ']') + "}").code, "invalid_json");
    EXPECT_EQ(send(std::string(200'000, '[')).code, "invalid_json");
    const auto keys = [](int n) {
        std::string text = "{";
        for (int i = 0; i < n; ++i) text += (i == 0 ? "\"k" : ",\"k") + std::to_string(i) + "\":0";
        return text + "}";
    };
    EXPECT_EQ(send(keys(256)).code, "missing");
    EXPECT_EQ(send(keys(257)).code, "invalid_json");
}

TEST_F(Limits, NumbersAreCheckedBeforeTheyAreAnythingElse) {
    const std::string rest = ",\"messages\":[{\"role\":\"user\",\"content\":\"Hi?\"}]}";
    const auto send = [&](const std::string& field, const std::string& value) {
        return refused(post(server_->port(), "/v1/chat/completions", "{\"" + field + "\":" + value + rest));
    };
    for (const char* field : {"max_tokens", "n", "seed", "top_k", "n_predict", "max_completion_tokens"}) {
        for (const char* value :
             {"1e308", "9223372036854775808", "-9223372036854775808", "99999999999999999999"}) {
            EXPECT_EQ(send(field, value), (Refused{400, "out_of_range", field})) << field << " " << value;
        }
        for (const char* value : {"\"1\"", "true", "[]", "{}", "1.5"}) {
            EXPECT_EQ(send(field, value), (Refused{400, "wrong_type", field})) << field << " " << value;
        }
    }
    for (const char* field : {"temperature", "top_p", "min_p", "frequency_penalty", "presence_penalty"}) {
        EXPECT_EQ(send(field, "1e308"), (Refused{400, "out_of_range", field}));
        EXPECT_EQ(send(field, "-3"), (Refused{400, "out_of_range", field}));
        EXPECT_EQ(send(field, "\"x\""), (Refused{400, "wrong_type", field}));
    }
    EXPECT_EQ(send("n", "0"), (Refused{400, "out_of_range", "n"}));
    EXPECT_EQ(send("n", "5"), (Refused{400, "out_of_range", "n"}));
    EXPECT_EQ(send("max_tokens", "0"), (Refused{400, "out_of_range", "max_tokens"}));
    EXPECT_EQ(send("seed", "-2"), (Refused{400, "out_of_range", "seed"}));
    EXPECT_EQ(send("stream", "1"), (Refused{400, "wrong_type", "stream"}));
    EXPECT_EQ(chat(*server_, with(with(text_body("Hi?"), "max_tokens", 1.0), "n", 1)).status, 200);
}

TEST_F(Limits, StopsAtTheLimitAndOneAbove) {
    const auto stops = [](std::size_t n, std::size_t bytes) {
        return Json(std::vector<std::string>(n, std::string(bytes, 'q')));
    };
    const Json body = with(text_body("Hi?"), "max_tokens", 2);
    EXPECT_EQ(chat(*server_, with(body, "stop", stops(16, 256))).status, 200);
    EXPECT_EQ(refuse(with(body, "stop", stops(17, 1))), (Refused{400, "out_of_range", "stop"}));
    EXPECT_EQ(refuse(with(body, "stop", stops(1, 257))), (Refused{400, "out_of_range", "stop"}));
    EXPECT_EQ(refuse(with(body, "stop", 3)), (Refused{400, "wrong_type", "stop"}));
}

TEST_F(Limits, MessagesPartsAndPicturesAtTheLimitAndOneAbove) {
    const auto conversation = [](std::size_t n) {
        Json messages = Json::array();
        for (std::size_t i = 0; i < n; ++i) {
            messages.push_back({{"role", i % 2 == n % 2 ? "assistant" : "user"}, {"content", "a"}});
        }
        return Json::object({{"messages", messages}, {"max_tokens", 1}});
    };
    EXPECT_NE(refused(chat(*server_, conversation(257))).status, 200);
    EXPECT_EQ(refuse(conversation(257)), (Refused{400, "out_of_range", "messages"}));
    Json longest = conversation(255);
    EXPECT_EQ(chat(*server_, longest).status, 200);
    Json with_system = Json::array({Json::object({{"role", "system"}, {"content", "a"}})});
    for (const Json& message : longest["messages"]) with_system.push_back(message);
    EXPECT_EQ(chat(*server_, with(longest, "messages", with_system)).status, 200);  // 256
    const auto parts = [](std::size_t n, const Json& part) {
        Json list = Json::array();
        for (std::size_t i = 0; i < n; ++i) list.push_back(part);
        const Json message = {{"role", "user"}, {"content", list}};
        return Json::object({{"messages", Json::array({message})}, {"max_tokens", 1}});
    };
    const Json text = {{"type", "text"}, {"text", "a"}};
    EXPECT_EQ(chat(*server_, parts(64, text)).status, 200);
    EXPECT_EQ(refuse(parts(65, text)), (Refused{400, "out_of_range", "messages[0].content"}));
    const Json image = {{"type", "image_url"}, {"image_url", data_url()}};
    EXPECT_EQ(refuse(parts(17, image)).code, "out_of_range");
    // 1 MiB of text is too long for the model, and one byte more for the server.
    EXPECT_EQ(refuse(text_body(std::string(1U << 20U, 'a'))).code, "context_length_exceeded");
    EXPECT_EQ(refuse(text_body(std::string((1U << 20U) + 1, 'a'))).code, "out_of_range");
}

TEST_F(Limits, AContextThatIsTooSmallIsToldWithItsSize) {
    const Reply reply = chat(*server_, text_body(std::string(20'000, 'a')));
    const Json error = json_of(reply)["error"];
    EXPECT_EQ(reply.status, 400);
    EXPECT_EQ(error["type"], "exceed_context_size_error");
    EXPECT_EQ(error["n_ctx"], 2048);
    EXPECT_GE(*error["n_prompt_tokens"].get<int>(), 2048);
    // The same for a stream: no byte was sent before.
    EXPECT_EQ(chat(*server_, with(text_body(std::string(20'000, 'a')), "stream", true)).status, 400);
}

TEST_F(Limits, PicturesComeWithTheRequestOrNotAtAll) {
    const auto code = [](const std::string& url) { return refuse(chat_body(kQuestion, url)).code; };
    for (const char* url :
         {"http://127.0.0.1:1/a.png", "https://example.org/a.png", "HTTP://[::1]/", "http://0x7f.1/"}) {
        EXPECT_EQ(code(url), "remote_images_off") << url;
    }
    for (const char* url : {"file:///etc/passwd", "file://../../x", "../picture.png", "/tmp/picture.png"}) {
        EXPECT_EQ(code(url), "file_images_off") << url;
    }
    for (const char* url : {"data:image/png;base64,", "data:image/png;base64,####", "data:image/png,abc",
                            "data:;base64,AAAA,AAAA", "ftp://example.org/a.png", "", "AAAA", "/etc/passwd"}) {
        EXPECT_EQ(code(url), "image_invalid") << url;
    }
    EXPECT_EQ(code("data:image/png;base64," + encode_base64(picture_bytes().substr(0, 20))), "image_invalid");
    // The bytes alone, and the text itself in place of an object.
    EXPECT_EQ(chat(*server_, chat_body(kQuestion, encode_base64(picture_bytes()))).status, 200);
    // The type in front is not believed.
    EXPECT_EQ(chat(*server_, chat_body(kQuestion, "data:text/html;base64," + encode_base64(picture_bytes())))
                  .status,
              200);
}

TEST_F(Limits, TinyAndHugePicturesDoNotStopTheServer) {
    // A PNG's header with any size: nothing of its pixels is ever read.
    const auto png = [](unsigned width, unsigned height) {
        std::string bytes = picture_bytes();
        for (unsigned i = 0; i < 4; ++i) {
            bytes[16 + i] = static_cast<char>((width >> (24U - 8U * i)) & 255U);
            bytes[20 + i] = static_cast<char>((height >> (24U - 8U * i)) & 255U);
        }
        return "data:image/png;base64," + encode_base64(bytes);
    };
    // What can be seen of a damaged picture is answered for.
    for (const unsigned side : {0U, 1U, 2U, 3U, 4U}) {
        EXPECT_EQ(chat(*server_, chat_body(kQuestion, png(side, side))).status, side < 2 ? 400 : 200) << side;
    }
    EXPECT_EQ(refuse(chat_body(kQuestion, png(9000, 9000))).code, "image_too_large");
    EXPECT_EQ(refuse(chat_body(kQuestion, png(16385, 10))).code, "image_too_large");
    EXPECT_EQ(refuse(chat_body(kQuestion, png(4294967295U, 4294967295U))).status, 400);
    EXPECT_EQ(chat(*server_, chat_body()).status, 200);
}

TEST_F(Limits, ContentThatModelsCannotHave) {
    const auto message = [](Json content, const char* role = "user") {
        const Json one = {{"role", role}, {"content", std::move(content)}};
        return Json::object({{"messages", Json::array({one})}});
    };
    EXPECT_EQ(refuse(message("x", "tool")), (Refused{400, "unsupported_content", "messages[0].role"}));
    EXPECT_EQ(refuse(message("x", "function")).code, "unsupported_content");
    EXPECT_EQ(refuse(message(Json())).code, "wrong_type");
    EXPECT_EQ(refuse(message(Json::array({Json::object({{"type", "input_audio"}})}))).code,
              "unsupported_content");
    EXPECT_EQ(refuse(message("x", "assistant")).code, "unsupported_content");
    EXPECT_EQ(refuse(message("  ")).code, "missing");
}

TEST_F(Limits, WhatCannotBeHonouredIsRefusedAndTheRestIgnored) {
    const Json body = with(text_body("Hi?"), "max_tokens", 1);
    const Json tool = {{"type", "function"}, {"function", Json::object({{"name", "f"}})}};
    EXPECT_EQ(refuse(with(body, "tools", Json::array({tool}))),
              (Refused{400, "unsupported_parameter", "tools"}));
    EXPECT_THAT(chat(*server_, with(body, "tools", Json::array({tool}))).body,
                HasSubstr("does not support tools"));
    EXPECT_EQ(chat(*server_, with(with(body, "tools", Json::array({tool})), "tool_choice", "none")).status,
              200);
    EXPECT_EQ(chat(*server_, with(body, "tools", Json::array())).status, 200);
    for (const char* field : {"audio", "web_search_options", "suffix"}) {
        EXPECT_EQ(refuse(with(body, field, Json::object({{"a", 1}}))).code, "unsupported_parameter") << field;
    }
    EXPECT_EQ(refuse(with(body, "response_format", Json::object({{"type", "sound"}}))).code,
              "unsupported_parameter");
    EXPECT_EQ(chat(*server_, with(body, "response_format", Json::object({{"type", "text"}}))).status, 200);
    for (const char* field :
         {"user", "store", "metadata", "service_tier", "chat_template_kwargs", "nobody_knows"}) {
        EXPECT_EQ(chat(*server_, with(body, field, "x")).status, 200) << field;
    }
}

TEST_F(Limits, TheClaspObjectTakesWhatItKnows) {
    const auto code = [](const Json& clasp) { return refuse(with(chat_body(), "clasp", clasp)); };
    EXPECT_EQ(code(Json::object({{"budgett", 64}})).param, "clasp.budgett");
    EXPECT_EQ(code(Json::object({{"budget", -1}})).param, "clasp.budget");
    EXPECT_EQ(code(Json::object({{"method", "no-such"}})).status, 400);
    EXPECT_EQ(code(Json::object({{"policy", "/etc/passwd"}})).param, "clasp.policy");
    EXPECT_EQ(code(Json::object({{"map", "all"}})).param, "clasp.map");
    EXPECT_EQ(code(Json::object({{"history", "never"}})).param, "clasp.history");
    EXPECT_EQ(code(Json::object({{"vanilla", true}, {"budget", 64}})).status, 400);
    EXPECT_EQ(code(Json::object({{"schedule", "2:300"}, {"budget", 64}})).status, 400);
    EXPECT_EQ(code(3).code, "wrong_type");
    EXPECT_EQ(code(Json::object({{"budget", "many"}})).param, "clasp.budget");
}

TEST_F(Limits, WebPagesOfOthersMayNotAsk) {
    for (const char* path : {"/health", "/v1/models", "/v1/chat/completions", "/nothing"}) {
        EXPECT_EQ(get(server_->port(), path, {{"Origin", "https://evil.example"}}).status, 403) << path;
        EXPECT_EQ(get(server_->port(), path, {{"Host", "evil.example"}}).status, 403) << path;
    }
    const Headers evil = {{"Origin", "https://evil.example"}, {"Content-Type", "text/plain"}};
    EXPECT_EQ(refused(chat(*server_, chat_body(), evil)), (Refused{403, "origin_not_allowed", ""}));
    const Reply own = get(server_->port(), "/v1/models", {{"Origin", "http://localhost:3000"}});
    EXPECT_EQ(own.status, 200);
    EXPECT_EQ(own.header("Access-Control-Allow-Origin"), "http://localhost:3000");
    // A page that may ask may also read why not.
    const Reply wrong = get(server_->port(), "/nothing", {{"Origin", "http://localhost:3000"}});
    EXPECT_EQ(wrong.status, 404);
    EXPECT_EQ(wrong.header("Access-Control-Allow-Origin"), "http://localhost:3000");
    Client client(server_->port());
    client.send(request_text("OPTIONS", "/v1/chat/completions", {}, {{"Origin", "http://localhost:3000"}}));
    const Reply preflight = client.receive();
    EXPECT_EQ(preflight.status, 204);
    EXPECT_THAT(preflight.header("Access-Control-Allow-Headers"), HasSubstr("x-stainless-os"));
    EXPECT_EQ(preflight.header("Access-Control-Allow-Credentials"), "");
}

TEST(Keys, EveryRouteButHealthNeedsOne) {
    ServeOptions options = test_options();
    ASSERT_TRUE(options.access.keys.add("secret").ok());
    const auto server = start_server(options);
    EXPECT_EQ(get(server->port(), "/health").status, 200);
    for (const char* path : {"/v1/models", "/v1/chat/completions", "/nothing", "//v1/models",
                             "/v1/../v1/models", "/v1%2fmodels", "/health/../v1/models", "/%76%31/models"}) {
        EXPECT_EQ(get(server->port(), path).status, 401) << path;
        EXPECT_EQ(get(server->port(), path, {{"Authorization", "Bearer wrong"}}).status, 401) << path;
    }
    EXPECT_EQ(get(server->port(), "/v1/models", {{"Authorization", "Bearer secret"}}).status, 200);
    EXPECT_EQ(get(server->port(), "/v1/models", {{"X-Api-Key", "secret"}}).status, 200);
}

TEST(Keys, AnOpenAddressNeedsOneToo) {
    for (const char* host : {"127.0.0.1", "localhost", "::1"})
        EXPECT_TRUE(check_exposure(host, false, false).ok());
    for (const char* host : {"0.0.0.0", "::", "192.168.0.1", ""}) {
        EXPECT_FALSE(check_exposure(host, false, false).ok()) << host;
        EXPECT_TRUE(check_exposure(host, true, false).ok());
        EXPECT_TRUE(check_exposure(host, false, true).ok());
    }
}

TEST(Addresses, SeveralHaveOnePortAndEachNeedsItsKey) {
    ServeOptions options = test_options();
    options.host = "127.0.0.1,127.0.0.2";
    const auto server = start_server(options);
    EXPECT_EQ(server->url(), "http://127.0.0.1:" + std::to_string(server->port()));
    EXPECT_EQ(get(server->port(), "/health").status, 200);
    EXPECT_FALSE(check_exposure("127.0.0.1,0.0.0.0", false, false).ok());
    EXPECT_FALSE(check_exposure("0.0.0.0,127.0.0.1", false, false).ok());
    EXPECT_TRUE(check_exposure("127.0.0.1,::1", false, false).ok());
}

TEST(Strict, OtherModelsAreNotHere) {
    ServeOptions options = test_options();
    options.is_strict_model = true;
    const auto server = start_server(options);
    EXPECT_EQ(refused(chat(*server, with(chat_body(), "model", "gpt-4"))),
              (Refused{404, "model_not_found", "model"}));
    EXPECT_EQ(chat(*server, with(chat_body(), "model", "tiny:64")).status, 200);
}

TEST(Prefix, GoesInFrontOfEveryPath) {
    ServeOptions options = test_options();
    options.api_prefix = "/clasp";
    const auto server = start_server(options);
    EXPECT_EQ(get(server->port(), "/clasp/v1/models").status, 200);
    EXPECT_EQ(get(server->port(), "/v1/models").status, 404);
    EXPECT_EQ(get(server->port(), "/claspv1/models").status, 404);
}

}  // namespace
}  // namespace clasp::serve
