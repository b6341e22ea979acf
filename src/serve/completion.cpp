#include "serve/completion.h"

#include <memory>
#include <utility>

#include "engine/engine_state.h"
#include "serve/completion_json.h"
#include "serve/completion_request.h"
#include "serve/json_reply.h"
#include "serve/logprobs_json.h"
#include "serve/openai_reply.h"
#include "serve/sse.h"

namespace clasp::serve {

namespace {

using base::Json;

constexpr ChoiceForm kTextForm = {
    .object = "text_completion",
    .chunk_object = "text_completion",
    .id_begin = "cmpl-",
    .whole =
        [](const Answer& answer) {
            return Json::object({{"text", answer.text}});
        },
    .first = nullptr,
    .piece =
        [](const std::string& text) {
            return Json::object({{"text", text}});
        },
    .last =
        [] {
            return Json::object({{"text", ""}});
        },
};

// A request of llama-server's form under way, and what its reply needs besides.
struct RunningCompletion {
    std::shared_ptr<RunningChat> chat;
    std::string model;
    std::string prompt;  // as text
    bool wants_tokens = false;
    std::vector<std::string> response_fields;
};

Json final_json(const RunningCompletion& running, bool has_text) {
    const RunningChat& chat = *running.chat;
    Json json = completion_json(chat, {.model = running.model,
                                       .prompt = running.prompt,
                                       .has_text = has_text,
                                       .wants_tokens = running.wants_tokens});
    if (chat.reports) json["clasp"] = report_json(chat);
    return json;
}

// Only the members that were asked for, under the paths by which they were.
Json chosen_fields(const Json& json, const std::vector<std::string>& paths) {
    if (paths.empty()) return json;
    Json chosen = Json::object();
    for (const std::string& path : paths) {
        const Json* value = &json;
        std::string_view rest = path;
        while (value != nullptr && !rest.empty()) {
            const std::size_t slash = rest.find('/');
            value = value->find(rest.substr(0, slash));
            rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
        }
        if (value != nullptr) chosen[path] = *value;
    }
    return chosen;
}

void write_stream(const RunningCompletion& running, StreamOut& out) {
    const RunningChat& chat = *running.chat;
    std::size_t n_written = 0;
    StreamEvents events;
    events.on_text = [&](std::size_t, const StreamPiece& piece) {
        std::vector<WrittenToken> tokens;
        if (piece.token) tokens.push_back(*piece.token);
        n_written += tokens.size();
        Json chunk = {{"index", 0},
                      {"content", piece.text},
                      {"tokens", ids_json(tokens)},
                      {"stop", false},
                      {"id_slot", 0},
                      {"tokens_predicted", n_written},
                      {"tokens_evaluated", chat.planned.n_prompt}};
        if (chat.generation.n_likely) chunk["completion_probabilities"] = logprobs_json(tokens, true);
        if (chat.wants_timings) chunk["timings"] = timings_so_far(chat.planned, *chat.tokens.front());
        return send_event(out, chunk);
    };
    events.on_progress = [&](const Progress& progress) {
        Json chunk = {{"index", 0},
                      {"content", ""},
                      {"tokens", Json::array()},
                      {"stop", false},
                      {"id_slot", 0},
                      {"tokens_predicted", 0},
                      {"tokens_evaluated", chat.planned.n_prompt}};
        add_progress(chunk, chat, progress);
        return send_event(out, chunk);
    };
    events.on_end = [&](std::size_t, const Answer&) { return send_event(out, final_json(running, false)); };
    events.on_failure = [&](const Refusal& refusal) {
        return send_event(out, Json::object({{"error", error_json(refusal)}}));
    };
    events.on_silence = [&] { return send_sign_of_life(out); };
    follow(*running.chat, out, events);
}

// The prompt as text; pictures are marks.
std::string prompt_of(const AskRequest& ask, const model::TextModel& text) {
    std::string prompt;
    for (const MessagePart& part : ask.parts) {
        prompt += part.image ? std::string(kMediaMarker) : part.text;
        for (const std::int32_t token : part.tokens) prompt += text.piece(token, true);
    }
    return prompt;
}

HttpReply completion(Service& service, const HttpRequest& http) {
    Json body;
    CompletionRequest request;
    const model::TextModel& text = *service.engine.state().text;
    if (auto refusal = read_body(http.body, service.options.http, service.options.limits, body))
        return error_reply(*refusal);
    if (auto refusal = read_completion(body, http, service.chat_context(), text.config().vocabulary, request))
        return error_reply(*refusal);
    body = Json();
    const bool streams = request.chat.streams;
    auto running = std::make_shared<RunningCompletion>();
    running->model = service.card.id;
    running->prompt = prompt_of(request.chat.ask, text);
    running->wants_tokens = request.wants_tokens;
    running->response_fields = std::move(request.response_fields);
    if (auto refusal = RunningChat::start(service, std::move(request.chat), http, running->chat))
        return error_reply(*refusal);
    HeaderList headers = running->chat->headers();
    if (streams) {
        HttpReply reply =
            event_stream(std::move(headers), [running](StreamOut& out) { write_stream(*running, out); });
        reply.note = [running] { return running->chat->log_note(); };
        return reply;
    }
    if (!running->chat->wait(http)) return error_reply(refusal_of(408, http.id));
    if (const Refusal* refusal = running->chat->refusal()) return error_reply(*refusal);
    HttpReply reply = json_reply(chosen_fields(final_json(*running, true), running->response_fields));
    reply.headers = std::move(headers);
    reply.note = [note = running->chat->log_note()] { return note; };
    return reply;
}

HttpReply text_completions(Service& service, const HttpRequest& http) {
    Json body;
    ChatRequest chat;
    const std::int32_t n_vocabulary = service.engine.state().text->config().vocabulary;
    if (auto refusal = read_body(http.body, service.options.http, service.options.limits, body))
        return error_reply(*refusal);
    if (auto refusal = read_openai_completion(body, http, service.chat_context(), n_vocabulary, chat))
        return error_reply(*refusal);
    body = Json();
    const bool streams = chat.streams;
    std::optional<std::string> prompt;
    if (chat.is_verbose) prompt = prompt_of(chat.ask, *service.engine.state().text);
    std::shared_ptr<RunningChat> running;
    if (auto refusal = RunningChat::start(service, std::move(chat), http, running))
        return error_reply(*refusal);
    running->verbose_prompt = std::move(prompt);
    if (!streams) return whole_choices(service, *running, http, kTextForm);
    return streamed_choices(service, std::move(running), kTextForm);
}

}  // namespace

void add_completion_endpoints(Endpoints& endpoints, Service& service) {
    for (const char* path : {"/completion", "/completions"}) {
        endpoints.add({.method = "POST", .path = path, .handle = [&service](const HttpRequest& http) {
                           return completion(service, http);
                       }});
    }
    endpoints.add(
        {.method = "POST", .path = "/v1/completions", .handle = [&service](const HttpRequest& http) {
             return text_completions(service, http);
         }});
}

}  // namespace clasp::serve
