#include "serve_fixture.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <utility>

#include "request/model_files.h"
#include "request/option_table.h"
#include "support/paths.h"

namespace clasp::serve {

using base::Json;

namespace {

EngineOptions tiny_options() {
    const std::string folder = std::string(test::source_dir()) + "/models/";
    EngineOptions options;
    options.model = folder + "clasp-tiny.gguf";
    options.mmproj = folder + "clasp-tiny-mmproj.gguf";
    options.n_threads = 1;
    options.cached_images = 4;
    options.history_bytes = std::size_t{64} << 20U;
    return options;
}

}  // namespace

const Engine& tiny_engine() {
    static const auto engine = Engine::load(tiny_options());
    EXPECT_TRUE(engine.ok()) << engine.status().message();
    return **engine;
}

ServeOptions test_options() {
    ServeOptions options;
    options.settings = request::default_settings();
    options.model_id = "tiny";
    options.model_file = tiny_options().model;
    options.port = 0;
    options.parallel = 4;
    options.limits.max_per_client = 64;
    return options;
}

std::unique_ptr<Server> start_server(const ServeOptions& options) {
    auto server = std::make_unique<Server>(tiny_engine(), options);
    const Status status = server->start();
    EXPECT_TRUE(status.ok()) << status.message();
    return server;
}

std::unique_ptr<Server> start_server() {
    return start_server(test_options());
}

std::string picture_bytes(const std::string& name) {
    std::ifstream file(std::string(test::source_dir()) + "/examples/pictures/" + name, std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    EXPECT_FALSE(bytes.str().empty()) << name;
    return bytes.str();
}

std::string encode_base64(std::string_view bytes) {
    constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const auto at = [&](std::size_t k) {
            return i + k < bytes.size() ? static_cast<unsigned>(static_cast<unsigned char>(bytes[i + k]))
                                        : 0U;
        };
        const unsigned group = (at(0) << 16U) | (at(1) << 8U) | at(2);
        for (unsigned k = 0; k < 4; ++k) {
            text += i + k <= bytes.size() ? kDigits[(group >> (18U - 6U * k)) & 63U] : '=';
        }
    }
    return text;
}

std::string data_url(const std::string& name) {
    return "data:image/png;base64," + encode_base64(picture_bytes(name));
}

Json chat_body(const std::string& question, const std::string& url) {
    const Json text = {{"type", "text"}, {"text", question}};
    const Json image = {{"type", "image_url"}, {"image_url", Json::object({{"url", url}})}};
    const Json message = {{"role", "user"}, {"content", Json::array({text, image})}};
    return Json::object({{"model", "tiny"}, {"messages", Json::array({message})}});
}

Json text_body(const std::string& question) {
    const Json message = {{"role", "user"}, {"content", question}};
    return Json::object({{"model", "tiny"}, {"messages", Json::array({message})}});
}

Json json_of(const Reply& reply) {
    auto json = base::parse_json(reply.body, {.max_bytes = std::size_t{1} << 24U, .max_depth = 32});
    EXPECT_TRUE(json.ok()) << reply.status << " " << reply.body;
    return json.ok() ? *json : Json();
}

Reply chat(const Server& server, const Json& body, const Headers& headers) {
    return post(server.port(), "/v1/chat/completions", base::dump_json(body), headers);
}

Reply send(const Server& server, std::string_view path, const Json& body, const Headers& headers) {
    return post(server.port(), path, base::dump_json(body), headers);
}

std::ostream& operator<<(std::ostream& out, const Refused& refused) {
    return out << refused.status << " " << refused.code << " " << refused.param;
}

Refused refused(const Reply& reply) {
    const Json error = json_of(reply)["error"];
    return {reply.status, error["code"].get<std::string>().value_or("?"),
            error["param"].get<std::string>().value_or("")};
}

Json with(Json body, const std::string& key, Json value) {
    body[key] = std::move(value);
    return body;
}

std::vector<NamedEvent> named_events_of(const Reply& reply) {
    std::vector<NamedEvent> events;
    std::istringstream lines(reply.body);
    std::string line;
    while (std::getline(lines, line)) {
        if (line.starts_with("event: ")) events.push_back({line.substr(7), Json()});
        if (!line.starts_with("data: ")) continue;
        EXPECT_FALSE(events.empty()) << line;
        auto json = base::parse_json(line.substr(6), {.max_bytes = std::size_t{1} << 24U, .max_depth = 32});
        EXPECT_TRUE(json.ok()) << line;
        if (json.ok() && !events.empty()) events.back().data = *json;
    }
    return events;
}

std::vector<Json> events_of(const Reply& reply, bool ends_with_done) {
    std::vector<Json> events;
    std::string rest = reply.body;
    bool is_done = false;
    while (!rest.empty()) {
        const std::size_t end = rest.find("\n\n");
        EXPECT_NE(end, std::string::npos) << rest;
        if (end == std::string::npos) break;
        const std::string event = rest.substr(0, end);
        rest.erase(0, end + 2);
        if (event.starts_with(":")) continue;
        EXPECT_TRUE(event.starts_with("data: ")) << event;
        EXPECT_FALSE(is_done) << event;
        is_done = event == "data: [DONE]";
        if (is_done) continue;
        auto json = base::parse_json(event.substr(6), {.max_bytes = std::size_t{1} << 24U, .max_depth = 32});
        EXPECT_TRUE(json.ok()) << event;
        if (json.ok()) events.push_back(*json);
    }
    EXPECT_EQ(is_done, ends_with_done);
    return events;
}

}  // namespace clasp::serve
