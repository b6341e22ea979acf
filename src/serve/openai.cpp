#include "serve/openai.h"

#include <memory>
#include <utility>

#include "engine/engine_state.h"
#include "engine/prompt_text.h"
#include "serve/completion_request.h"
#include "serve/json_reply.h"
#include "serve/openai_reply.h"

namespace clasp::serve {

namespace {

using base::Json;

constexpr ChoiceForm kChatForm = {
    .object = "chat.completion",
    .chunk_object = "chat.completion.chunk",
    .id_begin = "chatcmpl-",
    .whole =
        [](const Answer& answer) {
            const Json message = {{"role", "assistant"}, {"content", answer.text}, {"refusal", Json()}};
            return Json::object({{"message", message}});
        },
    .first =
        [] {
            return Json::object({{"delta", {{"role", "assistant"}, {"content", Json()}}}});
        },
    .piece =
        [](const std::string& text) {
            return Json::object({{"delta", Json::object({{"content", text}})}});
        },
    .last =
        [] {
            return Json::object({{"delta", Json::object()}});
        },
};

HttpReply chat_completions(Service& service, const HttpRequest& http) {
    Json body;
    ChatRequest chat;
    const auto refused = [&](const Refusal& refusal) { return error_reply(refusal); };
    if (auto refusal = read_body(http.body, service.options.http, service.options.limits, body))
        return refused(*refusal);
    if (auto refusal = read_openai_chat(body, http, service.chat_context(), chat)) return refused(*refusal);
    body = Json();  // pictures are decoded; their text is not needed any more
    const bool streams = chat.streams;
    std::optional<std::string> prompt;
    if (chat.is_verbose) {
        auto text = engine::prompt_text(service.engine.state(), chat.ask, kMediaMarker);
        if (!text.ok()) return refused(refusal_of(text.status(), http.id, "messages"));
        prompt = std::move(*text);
    }
    std::shared_ptr<RunningChat> running;
    if (auto refusal = RunningChat::start(service, std::move(chat), http, running)) return refused(*refusal);
    running->verbose_prompt = std::move(prompt);
    if (!streams) return whole_choices(service, *running, http, kChatForm);
    return streamed_choices(service, std::move(running), kChatForm);
}

HttpReply one_model(const Service& service, const Endpoints& endpoints, const HttpRequest& http) {
    const std::string path = endpoints.local_path(http.path).value_or("");
    const std::string name = path.substr(path.rfind("models/") + 7);
    Json tag;
    const bool is_plain = name == service.card.id || name == service.card.id + ":latest";
    if (auto refusal = read_model(name, service.chat_context(), tag)) return error_reply(*refusal);
    if (!is_plain && tag.is_null()) return error_reply(*no_such_model(name, service.card.id));
    return json_reply(service.card.entry_json(name));
}

}  // namespace

void add_openai_endpoints(Endpoints& endpoints, Service& service) {
    for (const char* path : {"/v1/chat/completions", "/chat/completions"}) {
        endpoints.add({.method = "POST", .path = path, .handle = [&service](const HttpRequest& http) {
                           return chat_completions(service, http);
                       }});
    }
    for (const char* path : {"/v1/models", "/models"}) {
        endpoints.add({.method = "GET", .path = path, .handle = [&service](const HttpRequest&) {
                           return json_reply(service.card.list_json());
                       }});
    }
    endpoints.add(
        {.method = "GET", .path = "/v1/models/*", .handle = [&service, &endpoints](const HttpRequest& http) {
             return one_model(service, endpoints, http);
         }});
}

}  // namespace clasp::serve
