#include "serve/anthropic.h"

#include <memory>
#include <utility>

#include "serve/anthropic_request.h"
#include "serve/json_reply.h"
#include "serve/random_id.h"
#include "serve/sse.h"
#include "serve/text_endpoints.h"

namespace clasp::serve {

namespace {

using base::Json;

std::string_view stop_reason(const Answer& answer) {
    switch (answer.stopped) {
        case Stopped::End: return "end_turn";
        case Stopped::StopText: return "stop_sequence";
        default: return "max_tokens";
    }
}

Json stop_text_json(const Answer& answer) {
    return answer.stopped == Stopped::StopText ? Json(answer.stop_text) : Json();
}

// answer: null at the beginning of a stream.
Json usage(const RunningChat& running, const Answer* answer) {
    // Anthropic counts what was cached apart.
    const std::size_t n_cached = answer != nullptr ? answer->history.n_tokens : 0;
    return {{"input_tokens", running.planned.n_prompt - n_cached},
            {"output_tokens", answer != nullptr ? answer->generated : 0},
            {"cache_read_input_tokens", n_cached},
            {"cache_creation_input_tokens", 0}};
}

Json message_json(const Service& service, const RunningChat& running, const Answer* answer) {
    Json content = Json::array();
    if (answer != nullptr) content.push_back({{"type", "text"}, {"text", answer->text}});
    return {{"id", random_id("msg_")},
            {"type", "message"},
            {"role", "assistant"},
            {"model", service.card.id},
            {"content", content},
            {"stop_reason", answer != nullptr ? Json(stop_reason(*answer)) : Json()},
            {"stop_sequence", answer != nullptr ? stop_text_json(*answer) : Json()},
            {"usage", usage(running, answer)}};
}

void add_report(Json& json, const RunningChat& running) {
    const Job& job = *running.jobs.front();
    if (running.reports) json["clasp"] = clasp_json(*job.answer(), job.queue_ms(), running.report);
}

bool send_typed(StreamOut& out, const std::string& type, const Json& more = Json::object()) {
    Json data = {{"type", type}};
    for (const base::JsonMember& member : more.items()) data[member.key] = member.value;
    return send_event(out, type, data);
}

void write_events(const Json& message, RunningChat& running, const std::string& request_id, StreamOut& out) {
    const Json block = Json::object({{"type", "text"}, {"text", ""}});
    if (!send_typed(out, "message_start", Json::object({{"message", message}})) ||
        !send_typed(out, "content_block_start", {{"index", 0}, {"content_block", block}}) ||
        !send_typed(out, "ping"))
        return;
    StreamEvents events;
    events.on_text = [&](std::size_t, const StreamPiece& piece) {
        const Json delta = {{"type", "text_delta"}, {"text", piece.text}};
        return send_typed(out, "content_block_delta", {{"index", 0}, {"delta", delta}});
    };
    events.on_end = [&](std::size_t, const Answer& answer) {
        Json delta = {
            {"delta", {{"stop_reason", stop_reason(answer)}, {"stop_sequence", stop_text_json(answer)}}},
            {"usage", usage(running, &answer)}};
        add_report(delta, running);
        return send_typed(out, "content_block_stop", Json::object({{"index", 0}})) &&
               send_typed(out, "message_delta", delta) && send_typed(out, "message_stop");
    };
    events.on_failure = [&](const Refusal& refusal) {
        return send_event(out, "error", anthropic_error(refusal, request_id));
    };
    events.on_silence = [&] { return send_typed(out, "ping"); };
    follow(running, out, events);
}

HttpReply messages(Service& service, const HttpRequest& http) {
    const auto refused = [&http](const Refusal& refusal) {
        return error_reply(refusal, ErrorForm::Anthropic, http.id);
    };
    Json body;
    ChatRequest chat;
    if (auto refusal = read_body(http.body, service.options.http, service.options.limits, body))
        return refused(*refusal);
    if (auto refusal = read_anthropic(body, http, service.chat_context(), chat)) return refused(*refusal);
    body = Json();
    const bool streams = chat.streams;
    std::shared_ptr<RunningChat> running;
    if (auto refusal = RunningChat::start(service, std::move(chat), http, running)) return refused(*refusal);
    HeaderList headers = running->headers();
    if (streams) {
        HttpReply reply = event_stream(
            std::move(headers), [running, message = message_json(service, *running, nullptr),
                                 id = http.id](StreamOut& out) { write_events(message, *running, id, out); });
        reply.note = [running] { return running->log_note(); };
        return reply;
    }
    if (!running->wait(http)) return refused(refusal_of(408, http.id));
    if (const Refusal* refusal = running->refusal()) return refused(*refusal);
    Json json = message_json(service, *running, running->jobs.front()->answer());
    add_report(json, *running);
    HttpReply reply = json_reply(json);
    reply.headers = std::move(headers);
    reply.note = [note = running->log_note()] { return note; };
    return reply;
}

HttpReply count_tokens(Service& service, const HttpRequest& http) {
    const auto refused = [&http](const Refusal& refusal) {
        return error_reply(refusal, ErrorForm::Anthropic, http.id);
    };
    Json body;
    ChatRequest chat;
    std::size_t n_tokens = 0;
    if (auto refusal = read_body(http.body, service.options.http, service.options.limits, body))
        return refused(*refusal);
    if (auto refusal = read_anthropic(body, http, service.chat_context(), chat)) return refused(*refusal);
    if (auto refusal = count_prompt(service, chat, http, n_tokens)) return refused(*refusal);
    return json_reply(Json::object({{"input_tokens", n_tokens}}));
}

}  // namespace

void add_anthropic_endpoints(Endpoints& endpoints, Service& service) {
    const auto add = [&endpoints](const char* path, std::function<HttpReply(const HttpRequest&)> handle) {
        endpoints.add(
            {.method = "POST", .path = path, .handle = std::move(handle), .form = ErrorForm::Anthropic});
    };
    add("/v1/messages", [&service](const HttpRequest& http) { return messages(service, http); });
    add("/v1/messages/count_tokens",
        [&service](const HttpRequest& http) { return count_tokens(service, http); });
}

}  // namespace clasp::serve
