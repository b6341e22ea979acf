// Conversations over HTTP: which tokens a question sees that follows others.
#include <gtest/gtest.h>

#include "serve_fixture.h"

namespace clasp::serve {
namespace {

using base::Json;

std::string answer_of(const Json& reply) {
    return *reply["choices"][0]["message"]["content"].as_string();
}

// Asks the questions one after the other, each with all that was said before.
std::vector<Json> converse(const Server& server, const std::vector<std::string>& questions,
                           const Json& clasp) {
    std::vector<Json> replies;
    Json body = chat_body(questions.front());
    body["clasp"] = clasp;
    for (std::size_t i = 0; i < questions.size(); ++i) {
        if (i > 0) {
            body["messages"].push_back({{"role", "assistant"}, {"content", answer_of(replies.back())}});
            body["messages"].push_back({{"role", "user"}, {"content", questions[i]}});
        }
        const Reply reply = chat(server, body);
        EXPECT_EQ(reply.status, 200) << reply.body;
        replies.push_back(json_of(reply));
    }
    return replies;
}

const std::vector<std::string> kQuestions = {kQuestion, "What is in the picture?",
                                             "What colour is the ground?"};

TEST(History, ReuseKeepsTheFirstQuestionsTokensAndSaysSo) {
    const auto server = start_server();
    const auto replies = converse(*server, kQuestions, {{"history", "reuse"}, {"map", "stages"}});
    EXPECT_EQ(replies[0]["clasp"]["history"], "reselect");
    for (std::size_t i = 1; i < replies.size(); ++i) {
        const Json& clasp = replies[i]["clasp"];
        EXPECT_EQ(clasp["history"], "reuse");
        EXPECT_EQ(clasp["stages"], replies[0]["clasp"]["stages"]);
        EXPECT_GT(clasp["cache"]["prefix_tokens"].get<int>().value(), 576);
        EXPECT_EQ(clasp["timings_ms"]["encode"].get<double>(), 0.0);
    }
}

TEST(History, TheServersDefaultIsTheRequestsUnlessItSaysOtherwise) {
    ServeOptions options = test_options();
    options.settings.request.history_mode = HistoryMode::Auto;
    const auto server = start_server(options);
    const auto replies = converse(*server, kQuestions, Json::object());
    const Json& second = replies[1]["clasp"];
    ASSERT_TRUE(second.contains("history_missed"));
    const auto missed = second["history_missed"].get<double>().value();
    EXPECT_GE(missed, 0.0);
    EXPECT_LE(missed, 1.0);
    const auto plain = converse(*server, kQuestions, {{"history", "reselect"}});
    for (const Json& reply : plain) {
        EXPECT_EQ(reply["clasp"]["history"], "reselect");
        EXPECT_FALSE(reply["clasp"].contains("history_missed"));
    }
}

TEST(History, OthersQuestionsLeaveNoTrace) {
    const auto server = start_server();
    const Json clasp = {{"history", "reuse"}, {"map", "stages"}};
    const auto alone = converse(*server, {"What is in the picture?"}, clasp);
    converse(*server, {kQuestion, "What colour is the ground?"}, clasp);
    const auto again = converse(*server, {"What is in the picture?"}, clasp);
    EXPECT_EQ(again[0]["clasp"]["stages"], alone[0]["clasp"]["stages"]);
    EXPECT_EQ(answer_of(again[0]), answer_of(alone[0]));
}

}  // namespace
}  // namespace clasp::serve
