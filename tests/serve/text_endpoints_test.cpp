// Tokens of texts, texts of tokens, prompts of conversations and how long they are, over real sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "serve_fixture.h"

namespace clasp::serve {
namespace {

using base::Json;
using testing::HasSubstr;
using testing::StartsWith;

class TextRoutes : public testing::Test {
   protected:
    static void SetUpTestSuite() { server_ = start_server().release(); }
    static void TearDownTestSuite() { delete server_; }

    static Json tokens_of(const std::string& text, bool adds_special = false) {
        const Json body = {{"content", text}, {"add_special", adds_special}};
        return json_of(send(*server_, "/tokenize", body))["tokens"];
    }
    static Server* server_;
};
Server* TextRoutes::server_ = nullptr;

TEST_F(TextRoutes, TokensGiveTheirTextBack) {
    for (const std::string& text : {std::string("How many yellow crosses are in the picture?"),
                                    std::string("{\"a\": 1}"), std::string("x"), std::string(5000, 'q')}) {
        const Json tokens = tokens_of(text);
        ASSERT_FALSE(tokens.empty());
        const Json back = json_of(send(*server_, "/detokenize", Json::object({{"tokens", tokens}})));
        EXPECT_EQ(back["content"], text);
    }
    EXPECT_EQ(tokens_of("").size(), 0U);
    EXPECT_EQ(json_of(send(*server_, "/detokenize", Json::object({{"tokens", Json::array()}})))["content"],
              "");
}

TEST_F(TextRoutes, PiecesJoinedAreTheText) {
    const std::string text = "Is there a red circle?";
    const Json body = {{"content", text}, {"with_pieces", true}};
    std::string joined;
    const Json tokens = json_of(send(*server_, "/tokenize", body))["tokens"];
    for (const Json& token : tokens) {
        EXPECT_TRUE(token["id"].is_number_integer());
        joined += token["piece"].get<std::string>().value_or("?");
    }
    EXPECT_EQ(joined, text);
}

TEST_F(TextRoutes, ControlTokensAreMeantUnlessTheyAreNot) {
    const Json meant = tokens_of("</s>");
    EXPECT_EQ(meant.size(), 1U);
    const Json body = {{"content", "</s>"}, {"parse_special", false}};
    EXPECT_GT(json_of(send(*server_, "/tokenize", body))["tokens"].size(), 1U);
}

TEST_F(TextRoutes, BadTokensAndTextsAreRefused) {
    const auto detokenize = [](const Json& tokens) {
        return refused(send(*server_, "/detokenize", Json::object({{"tokens", tokens}})));
    };
    for (const Json& token : {Json(-1), Json(1 << 30), Json(1e308), Json(9223372036854775807LL)}) {
        EXPECT_EQ(detokenize(Json::array({token})).status, 400) << token;
    }
    EXPECT_EQ(detokenize(Json::array({"1"})), (Refused{400, "wrong_type", "tokens"}));
    EXPECT_EQ(detokenize(Json::array({1.5})), (Refused{400, "wrong_type", "tokens"}));
    EXPECT_EQ(detokenize("1"), (Refused{400, "wrong_type", "tokens"}));
    EXPECT_EQ(refused(send(*server_, "/detokenize", Json::object())), (Refused{400, "missing", "tokens"}));
    EXPECT_EQ(refused(send(*server_, "/tokenize", Json::object())), (Refused{400, "missing", "content"}));
    EXPECT_EQ(refused(send(*server_, "/tokenize", Json::object({{"content", 3}}))),
              (Refused{400, "wrong_type", "content"}));
    // 64 KiB of text are the limit, whatever stands in it.
    std::string special;
    while (special.size() < (1U << 16U)) special += "<s></s><pad>";
    special.resize(1U << 16U);
    EXPECT_EQ(send(*server_, "/tokenize", Json::object({{"content", special}})).status, 200);
    EXPECT_EQ(refused(send(*server_, "/tokenize", Json::object({{"content", special + "x"}}))),
              (Refused{400, "out_of_range", "content"}));
}

TEST_F(TextRoutes, TheTemplateIsWhatTheModelReads) {
    const Json reply = json_of(send(*server_, "/apply-template", chat_body("Is it red?")));
    const std::string prompt = *reply["prompt"].as_string();
    EXPECT_THAT(prompt, HasSubstr("USER: <__media__>\nIs it red? ASSISTANT:"));
    // Its tokens, without the picture, are those that a request has.
    const Json count = json_of(send(*server_, "/chat/completions/input_tokens", text_body("Is it red?")));
    const std::string text =
        *json_of(send(*server_, "/apply-template", text_body("Is it red?")))["prompt"].as_string();
    EXPECT_EQ(count["input_tokens"], tokens_of(text, true).size());
}

TEST_F(TextRoutes, CountsWhatARequestWillHave) {
    for (const Json& body : {text_body("Is it red?"), chat_body("Is it red?")}) {
        const Json count = json_of(send(*server_, "/v1/chat/completions/input_tokens", body));
        const Json reply = json_of(chat(*server_, with(body, "max_tokens", 1)));
        EXPECT_EQ(count["input_tokens"], reply["usage"]["prompt_tokens"]);
    }
    EXPECT_EQ(refused(send(*server_, "/chat/completions/input_tokens", Json::object())).status, 400);
}

TEST_F(TextRoutes, AnAnswerIsContinuedFromItsBeginning) {
    const Json question = {{"role", "user"}, {"content", "Is it red?"}};
    const Json begin = {{"role", "assistant"}, {"content", "It is"}};
    const Json body = Json::object({{"messages", Json::array({question, begin})}});
    EXPECT_THAT(*json_of(send(*server_, "/apply-template", body))["prompt"].as_string(),
                testing::EndsWith("ASSISTANT: It is"));
    EXPECT_EQ(chat(*server_, with(body, "max_tokens", 2)).status, 200);
    EXPECT_EQ(chat(*server_, with(with(body, "max_tokens", 2), "continue_final_message", true)).status, 200);
    EXPECT_EQ(refused(chat(*server_,
                           with(with(body, "continue_final_message", true), "add_generation_prompt", true)))
                  .status,
              400);
    EXPECT_EQ(refused(chat(*server_, with(text_body("Hi?"), "continue_final_message", true))).status, 400);
    const Json twice = Json::object({{"messages", Json::array({question, begin, begin})}});
    EXPECT_EQ(refused(chat(*server_, twice)).status, 400);
}

TEST(Slots, AreToldOnRequestAlone) {
    ServeOptions options = test_options();
    const auto closed = start_server(options);
    EXPECT_EQ(refused(get(closed->port(), "/slots")), (Refused{501, "disabled", ""}));
    options.shows_slots = true;
    options.parallel = 2;
    const auto server = start_server(options);
    const Json idle = json_of(get(server->port(), "/slots"));
    ASSERT_EQ(idle.size(), 2U);
    EXPECT_EQ(idle[0]["is_processing"], false);
    EXPECT_EQ(idle[0]["next_token"][0]["n_remain"], -1);
    EXPECT_EQ(idle[0]["next_token"][0]["n_decoded"], 0);
    EXPECT_EQ(json_of(get(server->port(), "/props"))["endpoint_slots"], true);
}

TEST(Slots, ShowHowFarARequestIsAndNeverWhatItSays) {
    ServeOptions options = test_options();
    options.shows_slots = true;
    options.parallel = 1;
    const auto server = start_server(options);
    Json body = with(text_body("Tell me of secrets?"), "max_tokens", 1500);
    body["stream"] = true;
    body["ignore_eos"] = true;
    Client client(server->port());
    client.send(request_text("POST", "/v1/chat/completions", base::dump_json(body)));
    client.receive_some();  // it has begun
    Json slots;
    for (int i = 0; i < 200; ++i) {
        slots = json_of(get(server->port(), "/slots"));
        if (slots[0].contains("n_prompt_tokens_processed") && slots[0]["is_processing"] == Json(true)) break;
    }
    EXPECT_EQ(slots[0]["is_processing"], true);
    ASSERT_TRUE(slots[0].contains("n_prompt_tokens_processed")) << "the prompt has been read";
    EXPECT_GT(*slots[0]["n_prompt_tokens"].get<int>(), 0);
    EXPECT_EQ(slots[0]["n_prompt_tokens_cache"].get<int>().value() +
                  slots[0]["n_prompt_tokens_processed"].get<int>().value(),
              slots[0]["n_prompt_tokens"].get<int>().value());
    EXPECT_GT(*slots[0]["next_token"][0]["n_remain"].get<int>(), 0);
    EXPECT_THAT(base::dump_json(slots), testing::Not(HasSubstr("secrets")));
    client.close();
    for (int i = 0; i < 200; ++i) {
        slots = json_of(get(server->port(), "/slots"));
        if (slots[0]["is_processing"] == Json(false)) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(slots[0]["is_processing"], false);
}

}  // namespace
}  // namespace clasp::serve
