// OpenAI's Responses, over real sockets: the answers of chat completions in other words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve_fixture.h"

namespace clasp::serve {
namespace {

using base::Json;
using testing::ElementsAre;
using testing::MatchesRegex;

class Responses : public testing::Test {
   protected:
    static void SetUpTestSuite() { server_ = start_server().release(); }
    static void TearDownTestSuite() { delete server_; }
    static Json respond(const Json& body) {
        const Reply reply = send(*server_, "/v1/responses", body);
        EXPECT_EQ(reply.status, 200) << reply.body;
        return json_of(reply);
    }
    static Json input(const std::string& question = kQuestion) {
        const Json image = {{"type", "input_image"}, {"image_url", data_url()}, {"detail", "auto"}};
        const Json text = {{"type", "input_text"}, {"text", question}};
        const Json item = {{"role", "user"}, {"content", Json::array({text, image})}};
        return Json::object({{"model", "tiny"}, {"input", Json::array({item})}});
    }
    static std::string text_of_response(const Json& response) {
        return response["output"][0]["content"][0]["text"].get<std::string>().value_or("?");
    }
    static Server* server_;
};
Server* Responses::server_ = nullptr;

TEST_F(Responses, AnswerAsChatCompletionsDo) {
    const Json expected = json_of(chat(*server_, chat_body()));
    const Json response = respond(input());
    EXPECT_EQ(text_of_response(response), *expected["choices"][0]["message"]["content"].as_string());
    EXPECT_EQ(response["clasp"]["tokens"], expected["clasp"]["tokens"]);
    EXPECT_EQ(response["usage"]["input_tokens"], expected["usage"]["prompt_tokens"]);
    EXPECT_EQ(response["usage"]["total_tokens"], expected["usage"]["total_tokens"]);
    EXPECT_THAT(*response["id"].as_string(), MatchesRegex("resp_[0-9a-f]{32}"));
    EXPECT_THAT(*response["output"][0]["id"].as_string(), MatchesRegex("msg_[0-9a-f]{32}"));
    EXPECT_EQ(response["object"], "response");
    EXPECT_EQ(response["status"], "completed");
    EXPECT_EQ(response["output"][0]["status"], "completed");
    EXPECT_TRUE(response["error"].is_null());
}

TEST_F(Responses, TextAndInstructionsAreAConversation) {
    Json body = {{"input", "Is it red?"}, {"instructions", "Answer in one word."}, {"max_output_tokens", 6}};
    const Json response = respond(body);
    const Json system = {{"role", "system"}, {"content", "Answer in one word."}};
    const Json user = {{"role", "user"}, {"content", "Is it red?"}};
    const Json expected =
        json_of(chat(*server_, {{"messages", Json::array({system, user})}, {"max_tokens", 6}}));
    EXPECT_EQ(text_of_response(response), *expected["choices"][0]["message"]["content"].as_string());
    EXPECT_EQ(response["instructions"], "Answer in one word.");
    // A system item and instructions are one system message.
    body["input"] = Json::array({Json::object({{"role", "developer"}, {"content", "Be brief."}}), user});
    EXPECT_EQ(send(*server_, "/v1/responses", body).status, 200);
    // Turns of before, as the reply had them.
    const Json said = {{"type", "message"},
                       {"role", "assistant"},
                       {"content", Json::array({Json::object({{"type", "output_text"}, {"text", "no"}})})}};
    body["input"] = Json::array({user, said, user});
    EXPECT_EQ(send(*server_, "/v1/responses", body).status, 200);
    EXPECT_EQ(json_of(send(*server_, "/v1/responses/input_tokens", body))["object"], "response.input_tokens");
}

TEST_F(Responses, EventsComeInTheirOrder) {
    Json body = input("Describe the picture.");
    body["max_output_tokens"] = 6;
    respond(body);  // from now on the text before the picture is kept, which the usage tells
    const Json whole = respond(body);
    body["stream"] = true;
    const std::vector<NamedEvent> events = named_events_of(send(*server_, "/v1/responses", body));
    std::vector<std::string> names;
    std::string text;
    for (std::size_t i = 0; i < events.size(); ++i) {
        EXPECT_EQ(events[i].data["type"], events[i].name);
        EXPECT_EQ(events[i].data["sequence_number"], i);
        if (events[i].name == "response.output_text.delta") text += *events[i].data["delta"].as_string();
        if (names.empty() || names.back() != events[i].name) names.push_back(events[i].name);
    }
    const bool is_cut = whole["status"] == Json("incomplete");
    EXPECT_THAT(names, ElementsAre("response.created", "response.in_progress", "response.output_item.added",
                                   "response.content_part.added", "response.output_text.delta",
                                   "response.output_text.done", "response.content_part.done",
                                   "response.output_item.done",
                                   is_cut ? "response.incomplete" : "response.completed"));
    EXPECT_EQ(text, text_of_response(whole));
    const Json& last = events.back().data["response"];
    EXPECT_EQ(text_of_response(last), text);
    EXPECT_EQ(last["usage"], whole["usage"]);
    EXPECT_EQ(last["id"], events.front().data["response"]["id"]);
    EXPECT_EQ(last["clasp"]["tokens"], whole["clasp"]["tokens"]);
    EXPECT_EQ(last["incomplete_details"]["reason"], is_cut ? Json("max_output_tokens") : Json());
}

TEST_F(Responses, FormatsAreFlat) {
    Json body = {{"input", "Hi?"}};
    const Json schema = {{"const", "42"}};
    const Json format = {{"type", "json_schema"}, {"name", "x"}, {"schema", schema}};
    body["text"] = Json::object({{"format", format}});
    EXPECT_EQ(text_of_response(respond(body)), "\"42\"");
    body["text"] = Json::object({{"format", Json::object({{"type", "sound"}})}});
    EXPECT_EQ(refused(send(*server_, "/v1/responses", body)),
              (Refused{400, "unsupported_parameter", "text.format"}));
}

TEST_F(Responses, NothingIsRemembered) {
    const auto refuse = [](const std::string& key, const Json& value) {
        return refused(send(*server_, "/v1/responses", with(Json::object({{"input", "Hi?"}}), key, value)));
    };
    EXPECT_EQ(refuse("previous_response_id", "resp_1"),
              (Refused{400, "unsupported_parameter", "previous_response_id"}));
    EXPECT_EQ(refuse("conversation", "c").code, "unsupported_parameter");
    EXPECT_EQ(refuse("background", true), (Refused{400, "unsupported_parameter", "background"}));
    const Json tool = {{"type", "function"}, {"name", "f"}};
    EXPECT_EQ(refuse("tools", Json::array({tool})).param, "tools");
    EXPECT_EQ(refuse("input", Json()), (Refused{400, "missing", "input"}));
    EXPECT_EQ(refuse("input", 3), (Refused{400, "wrong_type", "input"}));
    const auto part = [&](const Json& content) {
        const Json item = {{"role", "user"}, {"content", Json::array({content})}};
        return refuse("input", Json::array({item}));
    };
    EXPECT_EQ(part({{"type", "input_image"}, {"file_id", "f"}}).param, "input[0].content[0].file_id");
    EXPECT_EQ(part({{"type", "input_file"}}).code, "unsupported_content");
    EXPECT_EQ(part({{"type", "input_image"}, {"image_url", "https://example.org/a.png"}}).code,
              "remote_images_off");
    EXPECT_EQ(refuse("input", Json::array({Json::object({{"type", "function_call"}})})).code,
              "unsupported_content");
    for (const char* key : {"store", "metadata", "reasoning", "truncation", "include"}) {
        Json body = Json::object({{"input", "Hi?"}, {"max_output_tokens", 1}});
        EXPECT_EQ(send(*server_, "/responses", with(body, key, Json::object())).status, 200) << key;
    }
}

}  // namespace
}  // namespace clasp::serve
