// Anthropic's Messages, over real sockets: the answers of chat completions in other words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve_fixture.h"

namespace clasp::serve {
namespace {

using base::Json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;

class Anthropic : public testing::Test {
   protected:
    static void SetUpTestSuite() { server_ = start_server().release(); }
    static void TearDownTestSuite() { delete server_; }
    static Json message_body(const std::string& question = kQuestion) {
        const Json source = {
            {"type", "base64"}, {"media_type", "image/png"}, {"data", encode_base64(picture_bytes())}};
        const Json image = {{"type", "image"}, {"source", source}};
        const Json text = {{"type", "text"}, {"text", question}};
        const Json message = {{"role", "user"}, {"content", Json::array({image, text})}};
        return Json::object({{"model", "tiny"}, {"max_tokens", 24}, {"messages", Json::array({message})}});
    }
    static Json plain_body(const Json& content) {
        const Json message = {{"role", "user"}, {"content", content}};
        return Json::object({{"max_tokens", 4}, {"messages", Json::array({message})}});
    }
    // Tokens that were read and those that were there before, which Anthropic counts apart.
    static std::size_t read_and_cached(const Json& usage) {
        return usage["input_tokens"].get<std::size_t>().value_or(0) +
               usage["cache_read_input_tokens"].get<std::size_t>().value_or(0);
    }
    static Json ask(const Json& body) {
        const Reply reply = send(*server_, "/v1/messages", body);
        EXPECT_EQ(reply.status, 200) << reply.body;
        return json_of(reply);
    }
    static Server* server_;
};
Server* Anthropic::server_ = nullptr;

TEST_F(Anthropic, AnswersAsChatCompletionsDo) {
    const Json expected = json_of(chat(*server_, with(chat_body(), "max_tokens", 24)));
    const Json message = ask(message_body());
    EXPECT_EQ(message["content"][0]["type"], "text");
    EXPECT_EQ(message["content"][0]["text"], expected["choices"][0]["message"]["content"]);
    EXPECT_EQ(read_and_cached(message["usage"]), expected["usage"]["prompt_tokens"]);
    EXPECT_EQ(message["usage"]["output_tokens"], expected["usage"]["completion_tokens"]);
    EXPECT_EQ(message["usage"]["cache_read_input_tokens"], message["clasp"]["cache"]["prefix_tokens"]);
    EXPECT_EQ(message["clasp"]["tokens"], expected["clasp"]["tokens"]);
    EXPECT_THAT(*message["id"].as_string(), MatchesRegex("msg_[0-9a-f]{32}"));
    EXPECT_EQ(message["type"], "message");
    EXPECT_EQ(message["role"], "assistant");
    EXPECT_EQ(message["stop_reason"], "end_turn");
    EXPECT_TRUE(message["stop_sequence"].is_null());
    EXPECT_FALSE(message.contains("timings"));
}

TEST_F(Anthropic, EventsComeInTheirOrder) {
    Json body = with(message_body("Describe the picture."), "max_tokens", 5);
    ask(body);  // from now on the text before the picture is kept, which the usage tells
    const Json whole = ask(body);
    body["stream"] = true;
    const std::vector<NamedEvent> events = named_events_of(send(*server_, "/v1/messages", body));
    std::vector<std::string> names;
    std::string text;
    for (const NamedEvent& event : events) {
        EXPECT_EQ(event.data["type"], event.name);
        if (event.name == "content_block_delta") {
            EXPECT_EQ(event.data["delta"]["type"], "text_delta");
            text += *event.data["delta"]["text"].as_string();
        }
        if (names.empty() || names.back() != event.name) names.push_back(event.name);
    }
    EXPECT_THAT(names, ElementsAre("message_start", "content_block_start", "ping", "content_block_delta",
                                   "content_block_stop", "message_delta", "message_stop"));
    EXPECT_EQ(text, *whole["content"][0]["text"].as_string());
    EXPECT_EQ(events[0].data["message"]["content"].size(), 0U);
    EXPECT_EQ(events[0].data["message"]["usage"]["input_tokens"], read_and_cached(whole["usage"]));
    const Json& delta = events[events.size() - 2].data;
    EXPECT_EQ(delta["delta"]["stop_reason"], whole["stop_reason"]);
    EXPECT_EQ(delta["usage"], whole["usage"]);
    EXPECT_TRUE(delta.contains("clasp"));
}

TEST_F(Anthropic, StopSequencesAreNamed) {
    Json body = plain_body("Describe the picture.");
    body["max_tokens"] = 32;
    body["ignore_eos"] = true;
    body["stop_sequences"] = Json::array({"e", "a", "o", "i"});
    const Json message = ask(body);
    EXPECT_EQ(message["stop_reason"], "stop_sequence");
    EXPECT_THAT(*message["stop_sequence"].as_string(), MatchesRegex("[aeio]"));
    body["stop_sequences"] = Json::array();
    EXPECT_EQ(ask(body)["stop_reason"], "max_tokens");
}

TEST_F(Anthropic, CountsTokens) {
    for (const Json& body :
         {message_body(), plain_body("Hi?"), with(plain_body("Hi?"), "system", "Be brief."),
          with(plain_body("Hi?"), "system",
               Json::array({Json::object({{"type", "text"}, {"text", "Be brief."}})}))}) {
        const Json count = json_of(send(*server_, "/v1/messages/count_tokens", body));
        EXPECT_EQ(count["input_tokens"], read_and_cached(ask(body)["usage"]));
        EXPECT_EQ(count.size(), 1U);
    }
}

TEST_F(Anthropic, ErrorsAreInItsForm) {
    const auto refuse = [](const Json& body) {
        const Reply reply = send(*server_, "/v1/messages", body, {{"X-Request-Id", "mine"}});
        const Json json = json_of(reply);
        EXPECT_EQ(json["type"], "error");
        EXPECT_EQ(json["request_id"], "mine");
        EXPECT_FALSE(json["error"]["message"].get<std::string>().value_or("").empty());
        return std::pair(reply.status, json["error"]["type"].get<std::string>().value_or("?"));
    };
    const std::pair bad(400, std::string("invalid_request_error"));
    EXPECT_EQ(refuse(Json::object()), bad);
    EXPECT_EQ(refuse(Json::object({{"messages", Json::array()}})), bad);
    EXPECT_EQ(refuse(with(plain_body("Hi?"), "max_tokens", -5)), bad);
    EXPECT_EQ(refuse(with(plain_body("Hi?"), "tools", Json::array({Json::object({{"name", "f"}})}))), bad);
    EXPECT_EQ(refuse(plain_body(Json::array({Json::object({{"type", "tool_result"}})}))), bad);
    const auto image = [&](const Json& source) {
        return refuse(plain_body(Json::array({Json::object({{"type", "image"}, {"source", source}})})));
    };
    EXPECT_EQ(image({{"type", "url"}, {"url", "https://example.org/a.png"}}), bad);
    EXPECT_EQ(image({{"type", "file"}, {"file_id", "f"}}), bad);
    EXPECT_EQ(image({{"type", "base64"}, {"data", "####"}}), bad);
    // Of those who never get that far, too.
    const Reply wrong = get(server_->port(), "/v1/messages");
    EXPECT_EQ(wrong.status, 405);
    EXPECT_EQ(json_of(wrong)["type"], "error");
}

}  // namespace
}  // namespace clasp::serve
