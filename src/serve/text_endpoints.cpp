#include "serve/text_endpoints.h"

#include <cstdint>
#include <utility>

#include "base/utf8.h"
#include "engine/ask_plan.h"
#include "engine/engine_state.h"
#include "engine/prompt_text.h"
#include "request/message_json.h"
#include "serve/completion_request.h"
#include "serve/json_reply.h"

namespace clasp::serve {

namespace {

using base::Json;

// Bytes as a text, or as numbers where they are part of a character.
Json piece_json(const std::string& piece) {
    if (!base::first_invalid_utf8(piece)) return piece;
    Json bytes = Json::array();
    for (const char c : piece) bytes.push_back(static_cast<std::uint8_t>(c));
    return bytes;
}

HttpReply tokenize(const Service& service, const HttpRequest& http) {
    Json body;
    if (auto refusal = read_body(http.body, service.options.http, service.options.limits, body))
        return error_reply(*refusal);
    const Fields fields(body);
    std::string content;
    bool adds_special = false;
    bool parses_special = true;
    bool wants_pieces = false;
    if (fields.find("content") == nullptr)
        return error_reply(bad_field("missing", "content", "content is missing"));
    for (const Check& refusal :
         {fields.read("content", content), fields.read("add_special", adds_special),
          fields.read("parse_special", parses_special), fields.read("with_pieces", wants_pieces),
          check_text_size(content, "content")}) {
        if (refusal) return error_reply(*refusal);
    }
    const model::TextModel& text = *service.engine.state().text;
    const auto tokens = text.tokenize(content, adds_special, parses_special);
    if (!tokens.ok()) return error_reply(refusal_of(tokens.status(), http.id, "content"));
    Json list = Json::array();
    for (const std::int32_t token : *tokens) {
        if (wants_pieces) {
            list.push_back({{"id", token}, {"piece", piece_json(text.piece(token, true))}});
        } else {
            list.push_back(token);
        }
    }
    return json_reply(Json::object({{"tokens", std::move(list)}}));
}

HttpReply detokenize(const Service& service, const HttpRequest& http) {
    Json body;
    if (auto refusal = read_body(http.body, service.options.http, service.options.limits, body))
        return error_reply(*refusal);
    const model::TextModel& text = *service.engine.state().text;
    std::vector<std::int32_t> tokens;
    if (auto refusal = read_tokens(body["tokens"], "tokens", text.config().vocabulary, tokens))
        return error_reply(*refusal);
    std::string content;
    for (const std::int32_t token : tokens) content += text.piece(token, true);
    return json_reply(Json::object({{"content", content}}));
}

HttpReply apply_template(const Service& service, const HttpRequest& http) {
    Json body;
    ChatRequest chat;
    if (auto refusal = read_body(http.body, service.options.http, service.options.limits, body))
        return error_reply(*refusal);
    if (auto refusal = read_openai_chat(body, http, service.chat_context(), chat))
        return error_reply(*refusal);
    const auto prompt = engine::prompt_text(service.engine.state(), chat.ask, kMediaMarker);
    if (!prompt.ok()) return error_reply(refusal_of(prompt.status(), http.id, "messages"));
    return json_reply(Json::object({{"prompt", *prompt}}));
}

HttpReply input_tokens(const Service& service, const HttpRequest& http) {
    Json body;
    ChatRequest chat;
    std::size_t n_tokens = 0;
    if (auto refusal = read_body(http.body, service.options.http, service.options.limits, body))
        return error_reply(*refusal);
    if (auto refusal = read_openai_chat(body, http, service.chat_context(), chat))
        return error_reply(*refusal);
    if (auto refusal = count_prompt(service, chat, http, n_tokens)) return error_reply(*refusal);
    return json_reply(Json::object({{"input_tokens", n_tokens}}));
}

}  // namespace

Check count_prompt(const Service& service, const ChatRequest& chat, const HttpRequest& http,
                   std::size_t& n_tokens) {
    const auto plan = engine::plan_ask(service.engine.state(), chat.ask);
    if (!plan.ok()) return refusal_of(plan.status(), http.id);
    n_tokens = (*plan)->n_prompt();
    return std::nullopt;
}

void add_text_endpoints(Endpoints& endpoints, Service& service) {
    struct Route {
        const char* path;
        HttpReply (*handle)(const Service& service, const HttpRequest& http);
    };
    for (const Route& route :
         {Route{"/tokenize", tokenize}, Route{"/detokenize", detokenize},
          Route{"/apply-template", apply_template}, Route{"/chat/completions/input_tokens", input_tokens},
          Route{"/v1/chat/completions/input_tokens", input_tokens}}) {
        endpoints.add({.method = "POST",
                       .path = route.path,
                       .handle = [&service, handle = route.handle](const HttpRequest& http) {
                           return handle(service, http);
                       }});
    }
}

}  // namespace clasp::serve
