// docs/reference/server.md names every field that the server's replies have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>

#include "docs/json_page.h"
#include "serve_fixture.h"
#include "support/paths.h"

namespace clasp::serve {
namespace {

using base::Json;
using testing::Contains;
using testing::IsEmpty;
using testing::Not;
using Words = std::set<std::string>;

// Every word in backticks below a heading of a page of docs/reference, up to the next one.
Words words_below(const std::string& page, const std::string& heading) {
    static const std::regex kCode("`([^`]+)`");
    static const std::regex kWord("[A-Za-z_][A-Za-z0-9_-]*");
    std::ifstream file(std::string(test::source_dir()) + "/docs/reference/" + page);
    std::string section;
    bool is_below = false;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("##")) {
            is_below = line.substr(line.find_first_not_of("# ")) == heading;
        } else if (is_below) {
            section += line + "\n";
        }
    }
    Words words;
    for (std::sregex_iterator code(section.begin(), section.end(), kCode), end; code != end; ++code) {
        const std::string text = (*code)[1];
        for (std::sregex_iterator word(text.begin(), text.end(), kWord); word != end; ++word)
            words.insert(word->str());
    }
    EXPECT_THAT(words, Not(IsEmpty())) << page << ": " << heading;
    return words;
}

// Fields whose own fields are not the page's: names of others, or another section's.
const Words& opaque() {
    static const Words kOpaque = {"clasp",  "model_info", "details", "generation_settings",
                                  "params", "metadata"};
    return kOpaque;
}

void collect(const Json& value, Words& names) {
    if (value.is_array()) {
        for (const Json& element : value) collect(element, names);
    }
    if (!value.is_object()) return;
    for (const base::JsonMember& member : value.items()) {
        names.insert(member.key);
        if (!opaque().contains(member.key)) collect(member.value, names);
    }
}

class ServerPage : public testing::Test {
   protected:
    static void SetUpTestSuite() {
        ServeOptions options = test_options();
        options.shows_slots = true;
        server_ = start_server(options).release();
    }
    static void TearDownTestSuite() { delete server_; }

    // Fields of a reply that the section does not name.
    static Words unnamed(const Json& reply, const Words& named) {
        Words names;
        collect(reply, names);
        EXPECT_THAT(names, Not(IsEmpty())) << base::dump_json(reply);
        std::erase_if(names, [&](const std::string& name) { return named.contains(name); });
        return names;
    }
    static void expect_named(const Reply& reply, const Words& named, const std::string& what) {
        EXPECT_LT(reply.status, 300) << what << " " << reply.body;
        EXPECT_THAT(unnamed(json_of(reply), named), IsEmpty()) << what;
    }
    static Words section(const std::string& heading) { return words_below("server.md", heading); }

    static Server* server_;
};
Server* ServerPage::server_ = nullptr;

Words operator+(Words a, const Words& b) {
    a.insert(b.begin(), b.end());
    return a;
}

TEST_F(ServerPage, AFieldThatIsNotNamedIsFound) {
    const Json reply = {{"id", 1}, {"choices", Json::array({Json::object({{"no_such_field", 1}})})}};
    EXPECT_THAT(unnamed(reply, section("Chat completions")), testing::ElementsAre("no_such_field"));
    EXPECT_THAT(section("Chat completions"), Not(Contains("has_new_line"))) << "a section is not the page";
}

Json rich_chat() {
    Json body = with(with(chat_body(), "max_tokens", 4), "logprobs", true);
    body["top_logprobs"] = 2;
    body["clasp"] = Json::object({{"map", "stages"}});
    return body;
}

TEST_F(ServerPage, ChatCompletions) {
    const Words text = section("Text completions");
    const Words named = section("Chat completions");
    Json body = rich_chat();
    expect_named(chat(*server_, body), named, "whole");
    for (const char* flag : {"stream", "return_progress", "timings_per_token"}) body[flag] = true;
    body["stream_options"] = Json::object({{"include_usage", true}});
    for (const Json& event : events_of(chat(*server_, body)))
        EXPECT_THAT(unnamed(event, named), IsEmpty()) << base::dump_json(event);
    body = with(rich_chat(), "verbose", true);
    expect_named(chat(*server_, body), named + text, "verbose");
}

TEST_F(ServerPage, TheClaspObjectOfReplies) {
    const Words named = section("`clasp` in a reply") + words_below("json.md", "ask");
    const Json clasp = json_of(chat(*server_, rich_chat()))["clasp"];
    Json without_mix = clasp;
    without_mix["mix"] = nullptr;  // its names are layers
    EXPECT_THAT(unnamed(without_mix, named), IsEmpty());
}

TEST_F(ServerPage, ResponsesAndMessages) {
    const Words responses = section("Responses") + section("Chat completions");  // the timings are there
    Json body = {{"input", "Hi?"}, {"max_output_tokens", 4}};
    expect_named(send(*server_, "/v1/responses", body), responses, "responses");
    for (const NamedEvent& event :
         named_events_of(send(*server_, "/v1/responses", with(body, "stream", true)))) {
        EXPECT_THAT(unnamed(event.data, responses), IsEmpty()) << event.name;
    }
    const Words messages = section("Messages");
    body = with(text_body("Hi?"), "max_tokens", 4);
    expect_named(send(*server_, "/v1/messages", body), messages, "messages");
    for (const NamedEvent& event :
         named_events_of(send(*server_, "/v1/messages", with(body, "stream", true)))) {
        EXPECT_THAT(unnamed(event.data, messages), IsEmpty()) << event.name;
        EXPECT_THAT(messages, Contains(event.name));
    }
}

TEST_F(ServerPage, TextCompletions) {
    const Words chat_words = section("Chat completions");
    const Words named = section("Text completions");
    Json body = {{"prompt", "Hi?"}, {"n_predict", 4}, {"n_probs", 2}, {"return_tokens", true}};
    expect_named(send(*server_, "/completion", body), named + chat_words, "llama-server's");
    body["stream"] = body["return_progress"] = true;
    for (const Json& event : events_of(send(*server_, "/completion", body), false))
        EXPECT_THAT(unnamed(event, named + chat_words), IsEmpty()) << base::dump_json(event);
    const Json openai = {{"prompt", "Hi?"}, {"max_tokens", 4}, {"logprobs", 2}};
    expect_named(send(*server_, "/v1/completions", openai), named + chat_words, "OpenAI's");
}

TEST_F(ServerPage, TextsAndTokens) {
    const Words named = section("Texts and tokens");
    for (const bool has_pieces : {false, true}) {
        expect_named(send(*server_, "/tokenize", {{"content", "Hi?"}, {"with_pieces", has_pieces}}), named,
                     "tokenize");
    }
    expect_named(send(*server_, "/detokenize", Json::object({{"tokens", Json::array({5})}})), named,
                 "detokenize");
    expect_named(send(*server_, "/apply-template", text_body("Hi?")), named, "apply-template");
    expect_named(send(*server_, "/chat/completions/input_tokens", text_body("Hi?")), named, "input_tokens");
}

TEST_F(ServerPage, Ollama) {
    const Words named = section("Ollama's");
    const Json options = Json::object({{"num_predict", 4}});
    Json body = {{"messages", text_body("Hi?")["messages"]}, {"stream", false}, {"options", options}};
    expect_named(send(*server_, "/api/chat", body), named, "chat");
    body = {{"prompt", "Hi?"}, {"stream", false}, {"options", options}};
    expect_named(send(*server_, "/api/generate", body), named, "generate");
    expect_named(send(*server_, "/api/show", Json::object({{"model", "tiny"}})), named, "show");
    for (const char* path : {"/api/tags", "/api/ps", "/api/version"})
        expect_named(get(server_->port(), path), named, path);
}

TEST_F(ServerPage, ModelsHealthAndFigures) {
    const Words named = section("Models, health, figures, our own");
    for (const char* path : {"/health", "/props", "/slots", "/v1/models/tiny"})
        expect_named(get(server_->port(), path), named, path);
    // "as llama-server": the list beside data, whose entries are Ollama's.
    expect_named(get(server_->port(), "/v1/models"), named + section("Ollama's"), "models");
    const Json info = json_of(get(server_->port(), "/clasp/info"));
    for (const base::JsonMember& member : info.items()) EXPECT_THAT(named, Contains(member.key));
    for (const char* inner : {"timing", "defaults"})
        EXPECT_THAT(unnamed(Json::object({{inner, info[inner]}}), named), IsEmpty()) << inner;
    const Reply route = send(*server_, "/clasp/route", Json::object({{"question", "Is it red?"}}));
    EXPECT_THAT(test::JsonPage::read().undocumented("route", json_of(route)), IsEmpty());
    expect_named(send(*server_, "/clasp/encode", Json::object({{"image", data_url()}})), named, "encode");
}

TEST_F(ServerPage, Errors) {
    const Words named = section("Errors");
    const auto expect_error = [&](const Reply& reply) {
        EXPECT_GE(reply.status, 400);
        EXPECT_THAT(unnamed(json_of(reply), named), IsEmpty()) << reply.body;
    };
    expect_error(get(server_->port(), "/nothing"));
    expect_error(send(*server_, "/api/chat", Json::object({{"messages", 1}})));
    expect_error(send(*server_, "/v1/messages", Json::object({{"messages", 1}})));
    const Reply too_long = chat(*server_, text_body(std::string(20'000, 'x')));
    EXPECT_EQ(refused(too_long).code, "context_length_exceeded");
    expect_error(too_long);
    // Codes of refusals that only broken requests get.
    for (const char* head :
         {"nonsense\r\n\r\n", "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nRange: bytes=0-1\r\n\r\n"}) {
        Client client(server_->port());
        client.send(head);
        const Reply reply = client.receive();
        if (reply.status == 200) continue;
        EXPECT_THAT(named, Contains(refused(reply).code)) << head;
        EXPECT_THAT(unnamed(json_of(reply), named), IsEmpty()) << head;
    }
}

}  // namespace
}  // namespace clasp::serve
