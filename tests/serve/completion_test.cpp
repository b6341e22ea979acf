// Prompts without a template: llama-server's /completion and OpenAI's /v1/completions, over real sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve_fixture.h"

namespace clasp::serve {
namespace {

using base::Json;
using testing::HasSubstr;
using testing::MatchesRegex;

class Completion : public testing::Test {
   protected:
    static void SetUpTestSuite() { server_ = start_server().release(); }
    static void TearDownTestSuite() { delete server_; }

    static Json complete(const Json& body) {
        const Reply reply = send(*server_, "/completion", body);
        EXPECT_EQ(reply.status, 200) << reply.body;
        return json_of(reply);
    }
    static Json prompt(Json value, int n_predict = 8) {
        return Json::object({{"prompt", std::move(value)}, {"n_predict", n_predict}});
    }
    static std::string chat_prompt(const std::string& question) {
        return *json_of(send(*server_, "/apply-template", text_body(question)))["prompt"].as_string();
    }
    static Server* server_;
};
Server* Completion::server_ = nullptr;

TEST_F(Completion, OfAChatsPromptIsTheChatsAnswer) {
    const std::string question = "What colour is a banana?";
    Json body = text_body(question);
    body["max_tokens"] = 12;
    const std::string answer = *json_of(chat(*server_, body))["choices"][0]["message"]["content"].as_string();
    const Json reply = complete(prompt(chat_prompt(question), 12));
    std::string text = *reply["content"].as_string();
    text.erase(0, text.find_first_not_of(' '));
    text.erase(text.find_last_not_of(' ') + 1);
    EXPECT_EQ(text, answer);
}

TEST_F(Completion, RepliesInLlamaServersForm) {
    const Json reply = complete(prompt("USER: Is it red? ASSISTANT:"));
    for (const char* key : {"index", "content", "tokens", "id_slot", "stop", "model", "tokens_predicted",
                            "tokens_evaluated", "generation_settings", "prompt", "has_new_line", "truncated",
                            "stop_type", "stopping_word", "tokens_cached", "timings", "clasp"}) {
        EXPECT_TRUE(reply.contains(key)) << key;
    }
    EXPECT_EQ(reply["stop"], true);
    EXPECT_EQ(reply["model"], "tiny");
    EXPECT_EQ(reply["prompt"], "USER: Is it red? ASSISTANT:");
    EXPECT_EQ(reply["tokens"].size(), 0U);
    EXPECT_EQ(reply["tokens_predicted"], reply["timings"]["predicted_n"]);
    EXPECT_THAT(*reply["stop_type"].as_string(), MatchesRegex("eos|limit"));
    const Json cut = complete(with(prompt("USER: Is it red? ASSISTANT:", 5), "ignore_eos", true));
    EXPECT_EQ(cut["stop_type"], "limit");
    EXPECT_EQ(cut["tokens_predicted"], 5);
    EXPECT_FALSE(cut["generation_settings"]["logit_bias"].is_null());
}

TEST_F(Completion, TokensTextAndBothAreTheSamePrompt) {
    const std::string text = "USER: Is it red? ASSISTANT:";
    const auto tokens = [&](const std::string& part, bool adds_special) {
        return json_of(send(*server_, "/tokenize",
                            Json::object({{"content", part}, {"add_special", adds_special}})))["tokens"];
    };
    const Json whole = complete(prompt(text));
    const Json by_tokens = complete(prompt(tokens(text, true)));
    EXPECT_EQ(by_tokens["content"], whole["content"]);
    EXPECT_EQ(by_tokens["tokens_evaluated"], whole["tokens_evaluated"]);
    EXPECT_EQ(complete(prompt(Json::array({text})))["content"], whole["content"]);
    EXPECT_EQ(complete(prompt(Json::array({tokens(text, true)})))["content"], whole["content"]);
    Json mixed = tokens("USER: Is it", true);
    mixed.push_back(" red? ASSISTANT:");
    EXPECT_EQ(send(*server_, "/completion", prompt(mixed)).status, 200);
    EXPECT_EQ(complete(prompt(Json::object({{"prompt_string", text}})))["content"], whole["content"]);
}

TEST_F(Completion, APictureStandsWhereItsMarkDoes) {
    const std::string question = kQuestion;
    const std::string text = "USER: <__media__>\n" + question + " ASSISTANT:";
    const Json media = {
        {"prompt_string", *json_of(send(*server_, "/apply-template", chat_body()))["prompt"].as_string()},
        {"multimodal_data", Json::array({encode_base64(picture_bytes())})}};
    const Json reply = complete(with(prompt(media), "clasp", Json::object({{"class", "counting"}})));
    const Json expected =
        json_of(chat(*server_, with(chat_body(), "clasp", Json::object({{"class", "counting"}}))));
    EXPECT_THAT(*reply["content"].as_string(),
                HasSubstr(*expected["choices"][0]["message"]["content"].as_string()));
    EXPECT_EQ(reply["clasp"]["tokens"]["visual"], 576);
    EXPECT_EQ(reply["tokens_evaluated"], expected["usage"]["prompt_tokens"]);
    // As many marks as pictures, or nothing.
    for (const Json& pictures : {Json::array(), Json::array({data_url(), data_url()})}) {
        const Json wrong = {{"prompt_string", text}, {"multimodal_data", pictures}};
        EXPECT_EQ(refused(send(*server_, "/completion", prompt(wrong))).status, 400);
    }
    const Json remote = {{"prompt_string", text},
                         {"multimodal_data", Json::array({"http://127.0.0.1/x.png"})}};
    EXPECT_EQ(refused(send(*server_, "/completion", prompt(remote))).code, "remote_images_off");
}

TEST_F(Completion, StreamedEqualsWhole) {
    for (const bool with_stop : {false, true}) {
        Json body = prompt("USER: Describe the picture. ASSISTANT:", 12);
        if (with_stop) body["stop"] = Json::array({"e"});
        const Json whole = complete(body);
        body["stream"] = true;
        const std::vector<Json> events = events_of(send(*server_, "/completion", body), false);
        ASSERT_GE(events.size(), 1U);
        std::string text;
        std::size_t n_tokens = 0;
        for (std::size_t i = 0; i < events.size(); ++i) {
            EXPECT_EQ(events[i]["stop"], i + 1 == events.size());
            text += *events[i]["content"].as_string();
            n_tokens += events[i]["tokens"].size();
        }
        EXPECT_EQ(text, *whole["content"].as_string());
        EXPECT_EQ(Json(n_tokens), whole["tokens_predicted"]);
        EXPECT_EQ(events.back()["stop_type"], whole["stop_type"]);
        EXPECT_EQ(events.back()["stopping_word"], whole["stopping_word"]);
        if (with_stop && whole["stop_type"] == Json("word")) {
            EXPECT_EQ(whole["stopping_word"], "e");
            EXPECT_THAT(text, testing::Not(HasSubstr("e")));
        }
    }
}

TEST_F(Completion, FieldsThatWereAskedForAreAllThatComes) {
    Json body = prompt("USER: Hi ASSISTANT:", 3);
    body["response_fields"] = Json::array({"content", "generation_settings/n_predict", "nobody/knows"});
    const Json reply = complete(body);
    EXPECT_EQ(reply.size(), 2U);
    EXPECT_EQ(reply["generation_settings/n_predict"], 3);
    body["response_fields"] = 3;
    EXPECT_EQ(refused(send(*server_, "/completion", body)), (Refused{400, "wrong_type", "response_fields"}));
}

TEST_F(Completion, OpenAisFormHasChoices) {
    Json body = {{"prompt", "USER: Is it red? ASSISTANT:"}, {"max_tokens", 6}, {"n", 2}};
    const Json whole = json_of(send(*server_, "/v1/completions", body));
    EXPECT_EQ(whole["object"], "text_completion");
    EXPECT_THAT(*whole["id"].as_string(), MatchesRegex("cmpl-[0-9a-f]{32}"));
    ASSERT_EQ(whole["choices"].size(), 2U);
    EXPECT_EQ(whole["choices"][0]["text"], whole["choices"][1]["text"]);
    EXPECT_TRUE(whole["usage"]["prompt_tokens"].is_number());
    body["n"] = 1;
    body["stream"] = true;
    std::string text;
    for (const Json& event : events_of(send(*server_, "/v1/completions", body))) {
        text += *event["choices"][0]["text"].as_string();
    }
    EXPECT_EQ(text, *whole["choices"][0]["text"].as_string());
}

TEST_F(Completion, PromptsThatAreNone) {
    const auto refuse = [](const Json& value) {
        return refused(send(*server_, "/completion", prompt(value)));
    };
    EXPECT_EQ(refuse(Json()), (Refused{400, "missing", "prompt"}));
    EXPECT_EQ(refuse(""), (Refused{400, "missing", "prompt"}));
    EXPECT_EQ(refuse(3), (Refused{400, "wrong_type", "prompt"}));
    EXPECT_EQ(refuse(Json::array()), (Refused{400, "missing", "prompt"}));
    EXPECT_EQ(refuse(Json::array({1, -1})), (Refused{400, "out_of_range", "prompt"}));
    EXPECT_EQ(refuse(Json::array({1, 1e308})).status, 400);
    EXPECT_EQ(refuse(Json::array({1, true})).status, 400);
    EXPECT_EQ(refuse(Json::array({"a", "b"})), (Refused{400, "unsupported_parameter", "prompt"}));
    EXPECT_EQ(refuse(Json::object()).code, "missing");
    EXPECT_EQ(refuse(std::string((1U << 16U) + 1, 'a')), (Refused{400, "out_of_range", "prompt"}));
    EXPECT_EQ(refuse(std::string(1U << 16U, 'a')).code, "context_length_exceeded");
}

}  // namespace
}  // namespace clasp::serve
