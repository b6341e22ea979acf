// Ollama's routes and our own, over real sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "serve_fixture.h"

namespace clasp::serve {
namespace {

using base::Json;
using testing::HasSubstr;
using testing::MatchesRegex;

Json ollama_body(const std::string& question = kQuestion) {
    const Json message = {
        {"role", "user"}, {"content", question}, {"images", Json::array({encode_base64(picture_bytes())})}};
    return Json::object({{"model", "tiny:latest"}, {"messages", Json::array({message})}});
}

std::vector<Json> lines_of(const Reply& reply) {
    std::vector<Json> lines;
    std::string rest = reply.body;
    while (!rest.empty()) {
        const std::size_t end = rest.find('\n');
        auto json = base::parse_json(rest.substr(0, end), {.max_bytes = 1U << 20U, .max_depth = 32});
        EXPECT_TRUE(json.ok()) << rest;
        if (json.ok()) lines.push_back(*json);
        rest.erase(0, end == std::string::npos ? rest.size() : end + 1);
    }
    return lines;
}

class Ollama : public testing::Test {
   protected:
    static void SetUpTestSuite() { server_ = start_server().release(); }
    static void TearDownTestSuite() { delete server_; }
    static Server* server_;
};
Server* Ollama::server_ = nullptr;

TEST_F(Ollama, AnswersAsOpenAisRouteDoes) {
    Json body = ollama_body();
    const Json expected = json_of(chat(*server_, chat_body()));
    const std::string text = *expected["choices"][0]["message"]["content"].as_string();
    body["stream"] = false;
    const Json whole = json_of(send(*server_, "/api/chat", body));
    EXPECT_EQ(whole["message"]["content"], text);
    EXPECT_EQ(whole["model"], "tiny");
    EXPECT_EQ(whole["done"], true);
    EXPECT_EQ(whole["done_reason"], "stop");
    EXPECT_EQ(whole["prompt_eval_count"], expected["usage"]["prompt_tokens"]);
    EXPECT_EQ(whole["clasp"]["tokens"], expected["clasp"]["tokens"]);
    EXPECT_THAT(*whole["created_at"].as_string(),
                MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6}Z"));
    // A stream is what Ollama does unless it is told otherwise.
    const Reply streamed = send(*server_, "/api/chat", ollama_body());
    EXPECT_EQ(streamed.header("Content-Type"), "application/x-ndjson");
    const std::vector<Json> lines = lines_of(streamed);
    std::string joined;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        joined += *lines[i]["message"]["content"].as_string();
        EXPECT_EQ(lines[i]["done"], i + 1 == lines.size());
    }
    EXPECT_EQ(joined, text);
    EXPECT_TRUE(lines.back().contains("clasp"));
    const Json generate = Json::object({{"prompt", kQuestion},
                                        {"stream", false},
                                        {"images", Json::array({encode_base64(picture_bytes())})}});
    EXPECT_EQ(json_of(send(*server_, "/api/generate", generate))["response"], text);
}

TEST_F(Ollama, OptionsAreRead) {
    Json body = ollama_body("Describe the picture.");
    body["stream"] = false;
    body["options"] = {{"num_predict", 2}, {"clasp", Json::object({{"budget", 64}})}};
    const Json json = json_of(send(*server_, "/api/chat", body));
    EXPECT_EQ(json["eval_count"], 2);
    EXPECT_EQ(json["done_reason"], "length");
    EXPECT_EQ(json["clasp"]["budget"]["asked"], "64");
    body["options"] = Json::object({{"num_ctx", 1 << 20}});
    EXPECT_EQ(send(*server_, "/api/chat", body).status, 400);
    body["options"] = Json::object({{"temperature", "hot"}});
    EXPECT_THAT(*json_of(send(*server_, "/api/chat", body))["error"].as_string(),
                HasSubstr("options.temperature"));
}

TEST_F(Ollama, NothingToSayLoadsAndUnloads) {
    EXPECT_EQ(json_of(send(*server_, "/api/chat", Json::object({{"model", "tiny"}})))["done_reason"], "load");
    const Json unload = {{"model", "tiny"}, {"prompt", ""}, {"keep_alive", 0}};
    EXPECT_EQ(json_of(send(*server_, "/api/generate", unload))["done_reason"], "unload");
}

TEST_F(Ollama, ErrorsAreOneText) {
    const Reply reply = post(server_->port(), "/api/chat", "{");
    EXPECT_EQ(reply.status, 400);
    EXPECT_NE(json_of(reply)["error"].as_string(), nullptr);
    Json remote = ollama_body();
    remote["messages"][0]["images"] = Json::array({"http://127.0.0.1/a.png"});
    EXPECT_EQ(send(*server_, "/api/chat", remote).status, 400);
    remote["messages"][0]["images"] = Json::array({3});
    EXPECT_EQ(send(*server_, "/api/chat", remote).status, 400);
    EXPECT_EQ(get(server_->port(), "/api/chat").status, 405);
}

TEST_F(Ollama, TellsWhatIsThere) {
    EXPECT_EQ(json_of(get(server_->port(), "/api/tags"))["models"][0]["name"], "tiny:latest");
    EXPECT_EQ(json_of(get(server_->port(), "/api/ps"))["models"][0]["size_vram"], 0);
    EXPECT_TRUE(json_of(get(server_->port(), "/api/version")).contains("version"));
    const Json shown = json_of(send(*server_, "/api/show", Json::object({{"model", "tiny:latest"}})));
    EXPECT_EQ(shown["capabilities"], Json::array({"completion", "vision"}));
    EXPECT_EQ(shown["model_info"]["llama.context_length"], 2048);
    EXPECT_EQ(send(*server_, "/api/show", Json::object({{"model", "other"}})).status, 200);
    Client client(server_->port());
    client.send(request_text("HEAD", "/api/version"));
    EXPECT_EQ(client.receive(true).status, 200);
}

TEST_F(Ollama, NothingWritesOrFetchesModels) {
    for (const char* path : {"/api/pull", "/api/push", "/api/create", "/api/copy", "/api/embed",
                             "/v1/embeddings", "/rerank", "/infill", "/lora-adapters", "/slots/0"}) {
        const Reply reply = post(server_->port(), path, "{}");
        EXPECT_EQ(reply.status, 501) << path;
        EXPECT_EQ(reply.header("x-should-retry"), "false") << path;
    }
    EXPECT_EQ(get(server_->port(), "/api/blobs/sha256:../../etc/passwd").status, 404);
}

TEST_F(Ollama, OurOwnRoutes) {
    const Json info = json_of(get(server_->port(), "/clasp/info"));
    EXPECT_EQ(info["model"]["id"], "tiny");
    EXPECT_EQ(info["classes"].size(), 9U);
    EXPECT_GT(info["methods"].size(), 10U);
    const Json route = json_of(send(*server_, "/clasp/route", Json::object({{"question", kQuestion}})));
    EXPECT_EQ(route["name"], "Counting");
    EXPECT_EQ(route["scores"].size(), 9U);
    EXPECT_EQ(send(*server_, "/clasp/route", Json::object({{"question", " "}})).status, 400);
}

TEST(Metrics, CountWhatWasAnsweredAndRefused) {
    ServeOptions options = test_options();
    options.shows_metrics = true;
    const auto server = start_server(options);
    Json body = chat_body();
    ASSERT_EQ(chat(*server, body).status, 200);
    body["stream"] = true;
    ASSERT_EQ(chat(*server, body).status, 200);
    EXPECT_EQ(get(server->port(), "/made-up-name").status, 404);
    // A stream is counted when it is over, which is a moment after its last byte.
    Reply reply;
    for (int i = 0; i < 500; ++i) {
        reply = get(server->port(), "/metrics");
        if (reply.body.find("status=\"200\"} 2\n") != std::string::npos) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    for (const char* name :
         {"clasp_inter_token_seconds_count", "clasp_stage_seconds_bucket{stage=\"encode\",le=\"+Inf\"} 2",
          "clasp_stage_seconds_sum{stage=\"prefill\"}", "clasp_rejected_total{code=\"no_such_route\"} 1",
          "clasp_image_cache_bytes ", "clasp_kv_bytes ", "clasp_cancelled_total ",
          "clasp_request_seconds_sum", "clasp_image_cache_hits_total ",
          "clasp_time_to_first_token_seconds_count 2"}) {
        EXPECT_THAT(reply.body, HasSubstr(name));
    }
    EXPECT_EQ(reply.status, 200);
    EXPECT_THAT(reply.body, HasSubstr("\nclasp_visual_tokens_total{kind=\"all\"} 1152\n"));
    EXPECT_THAT(reply.body,
                HasSubstr("clasp_requests_total{route=\"/v1/chat/completions\",status=\"200\"} 2\n"));
    EXPECT_THAT(reply.body, HasSubstr("clasp_requests_total{route=\"other\",status=\"404\"} 1\n"));
    EXPECT_THAT(reply.body, HasSubstr("clasp_class_total{class=\"Counting\""));
    EXPECT_THAT(reply.body, HasSubstr("clasp_queue_seconds_count 2\n"));
    EXPECT_THAT(reply.body,
                HasSubstr("# TYPE llamacpp:requests_processing gauge\nllamacpp:requests_processing 0\n"));
    EXPECT_EQ(reply.body.find("made-up"), std::string::npos);
    EXPECT_EQ(reply.body.find("nan"), std::string::npos);
}

TEST_F(Ollama, LlamaServersProperties) {
    const Json props = json_of(get(server_->port(), "/props"));
    EXPECT_EQ(props["default_generation_settings"]["n_ctx"], 2048);
    EXPECT_EQ(props["model_path"], "clasp-tiny.gguf");
    EXPECT_EQ(props["modalities"]["vision"], true);
    for (const char* path : {"/metrics", "/slots"}) EXPECT_EQ(get(server_->port(), path).status, 501) << path;
    EXPECT_EQ(post(server_->port(), "/props", "{}").status, 501);
}

TEST_F(Ollama, APictureIsEncodedAheadOfItsQuestion) {
    const Json body = Json::object({{"image", data_url("key.png")}});
    const Reply first = send(*server_, "/clasp/encode", body);
    EXPECT_EQ(first.status, 202) << first.body;
    EXPECT_EQ(json_of(first)["state"], "queued");
    for (int i = 0; i < 500; ++i) {
        if (json_of(send(*server_, "/clasp/encode", body))["state"] == "cached") break;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(json_of(send(*server_, "/clasp/encode", body))["state"], "cached");
    const Json answer = json_of(chat(*server_, chat_body(kQuestion, data_url("key.png"))));
    EXPECT_EQ(answer["clasp"]["timings_ms"]["encode"], 0.0);
    EXPECT_EQ(answer["clasp"]["cache"]["features"], "hit");
    EXPECT_EQ(send(*server_, "/clasp/encode", Json::object({{"image", "http://127.0.0.1/"}})).status, 400);
}

}  // namespace
}  // namespace clasp::serve
