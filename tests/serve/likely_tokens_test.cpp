// How likely tokens were, biases, and the fields that ask for them, over real sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "serve_fixture.h"

namespace clasp::serve {
namespace {

using base::Json;

class LikelyTokens : public testing::Test {
   protected:
    static void SetUpTestSuite() { server_ = start_server().release(); }
    static void TearDownTestSuite() { delete server_; }
    static Json ask(const Json& body) {
        const Reply reply = chat(*server_, body);
        EXPECT_EQ(reply.status, 200) << reply.body;
        return json_of(reply);
    }
    static Server* server_;
};
Server* LikelyTokens::server_ = nullptr;

Json likely_body() {
    Json body = chat_body("Describe the picture.");
    body["max_tokens"] = 8;
    body["logprobs"] = true;
    body["top_logprobs"] = 20;
    return body;
}

std::string bytes_of(const Json& token) {
    std::string bytes;
    for (const Json& byte : token["bytes"]) bytes += static_cast<char>(*byte.get<int>());
    return bytes;
}

TEST_F(LikelyTokens, AreProbabilitiesAndTheGreedyOneIsFirst) {
    const Json reply = ask(likely_body());
    const Json& content = reply["choices"][0]["logprobs"]["content"];
    ASSERT_EQ(Json(content.size()), reply["usage"]["completion_tokens"]);
    std::string text;
    for (const Json& token : content) {
        text += bytes_of(token);
        ASSERT_EQ(token["top_logprobs"].size(), 20U);
        EXPECT_EQ(token["top_logprobs"][0]["logprob"], token["logprob"]);  // temperature 0
        double sum = 0.0;
        double last = 0.0;
        for (const Json& likely : token["top_logprobs"]) {
            const double logprob = *likely["logprob"].get<double>();
            EXPECT_LE(logprob, last);
            last = logprob;
            sum += std::exp(logprob);
        }
        EXPECT_LE(sum, 1.0 + 1e-9);
        EXPECT_GT(sum, 0.0);
    }
    EXPECT_THAT(text, testing::HasSubstr(*reply["choices"][0]["message"]["content"].as_string()));
}

TEST_F(LikelyTokens, StreamedEqualWhole) {
    Json body = likely_body();
    const Json whole = ask(body);
    body["stream"] = true;
    Json streamed = Json::array();
    std::string text;
    for (const Json& event : events_of(chat(*server_, body))) {
        for (const Json& token : event["choices"][0]["logprobs"]["content"]) streamed.push_back(token);
        text += event["choices"][0]["delta"]["content"].get<std::string>().value_or("");
    }
    EXPECT_EQ(streamed, whole["choices"][0]["logprobs"]["content"]);
    EXPECT_EQ(text, *whole["choices"][0]["message"]["content"].as_string());
}

TEST_F(LikelyTokens, AreNotToldToThoseWhoDoNotAsk) {
    Json body = likely_body();
    body["logprobs"] = false;
    EXPECT_EQ(refused(chat(*server_, body)), (Refused{400, "unsupported_parameter", "top_logprobs"}));
    body["logprobs"] = true;
    body["top_logprobs"] = 21;
    EXPECT_EQ(refused(chat(*server_, body)), (Refused{400, "out_of_range", "top_logprobs"}));
    body["top_logprobs"] = -1;
    EXPECT_EQ(refused(chat(*server_, body)), (Refused{400, "out_of_range", "top_logprobs"}));
    body["logprobs"] = 5;
    EXPECT_EQ(refused(chat(*server_, body)), (Refused{400, "wrong_type", "logprobs"}));
    EXPECT_TRUE(ask(with(text_body("Hi?"), "max_tokens", 1))["choices"][0]["logprobs"].is_null());
}

TEST_F(LikelyTokens, OfCompletionsHaveNumbers) {
    const Json body = {
        {"prompt", "USER: Is it red? ASSISTANT:"}, {"n_predict", 4}, {"n_probs", 3}, {"ignore_eos", true}};
    const Json reply = json_of(send(*server_, "/completion", body));
    ASSERT_EQ(reply["completion_probabilities"].size(), 4U);
    for (const Json& token : reply["completion_probabilities"]) {
        EXPECT_TRUE(token["id"].is_number_integer());
        EXPECT_EQ(token["top_logprobs"].size(), 3U);
        EXPECT_EQ(token["top_logprobs"][0]["id"].is_number_integer(), true);
    }
    EXPECT_EQ(refused(send(*server_, "/completion", with(body, "n_probs", 21))).code, "out_of_range");
    EXPECT_EQ(refused(send(*server_, "/completion", with(body, "post_sampling_probs", true))).code,
              "unsupported_parameter");
}

TEST_F(LikelyTokens, ABiasForbidsOrForces) {
    Json body = chat_body();
    body["logprobs"] = true;
    body["top_logprobs"] = 2;
    const std::string usual = *ask(body)["choices"][0]["message"]["content"].as_string();
    const auto token_of = [](const std::string& text) {
        const Json reply = json_of(send(*server_, "/tokenize", Json::object({{"content", text}})));
        EXPECT_EQ(reply["tokens"].size(), 1U);
        return *reply["tokens"][0].get<int>();
    };
    const int six = token_of(" 6");
    EXPECT_EQ(usual, "6");
    for (const Json& biases :
         {Json::array({Json::array({six, -100})}), Json::array({Json::array({six, false})}),
          Json::object({{std::to_string(six), -100}})}) {
        const Json reply = ask(with(body, "logit_bias", biases));
        EXPECT_NE(*reply["choices"][0]["message"]["content"].as_string(), usual);
        // What the model thinks of it is told all the same.
        EXPECT_EQ(reply["choices"][0]["logprobs"]["content"][0]["top_logprobs"][0]["token"], " 6");
    }
    const int red = token_of(" red");
    const Json forced =
        ask(with(with(body, "logit_bias", Json::object({{std::to_string(red), 100}})), "max_tokens", 1));
    EXPECT_EQ(forced["choices"][0]["message"]["content"], "red");
}

TEST_F(LikelyTokens, BiasesAreCheckedAtTheLimitAndOneAbove) {
    const Json body = with(text_body("Hi?"), "max_tokens", 1);
    const auto biases = [](std::size_t n) {
        Json list = Json::array();
        for (std::size_t i = 0; i < n; ++i) list.push_back(Json::array({1, 0.5}));
        return list;
    };
    EXPECT_EQ(chat(*server_, with(body, "logit_bias", biases(300))).status, 200);
    const auto refuse = [&](const Json& value) {
        return refused(chat(*server_, with(body, "logit_bias", value)));
    };
    EXPECT_EQ(refuse(biases(301)), (Refused{400, "out_of_range", "logit_bias"}));
    EXPECT_EQ(refuse(Json::array({Json::array({-1, 0})})).status, 400);
    EXPECT_EQ(refuse(Json::array({Json::array({1 << 29, 0})})).status, 400);
    for (const Json& wrong :
         {Json(3), Json::array({1}), Json::array({Json::array({1})}), Json::array({Json::array({1, "x"})}),
          Json::array({Json::array({1, 1e300})}), Json::object({{"x", 1}}), Json::object({{"1x", 1}}),
          Json::array({Json::array({1.5, 0})})}) {
        EXPECT_EQ(refuse(wrong), (Refused{400, "wrong_type", "logit_bias"})) << wrong;
    }
}

TEST_F(LikelyTokens, SamplingFollowsItsSeed) {
    Json body = with(text_body("Describe the picture."), "max_tokens", 16);
    body["temperature"] = 2.0;
    body["ignore_eos"] = true;
    const auto text = [&](int seed) {
        return *ask(with(body, "seed", seed))["choices"][0]["message"]["content"].as_string();
    };
    EXPECT_EQ(text(7), text(7));
    EXPECT_NE(text(7), text(8));
}

}  // namespace
}  // namespace clasp::serve
