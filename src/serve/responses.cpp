#include "serve/responses.h"

#include <memory>
#include <utility>

#include "serve/json_reply.h"
#include "serve/openai_reply.h"
#include "serve/random_id.h"
#include "serve/responses_request.h"
#include "serve/sse.h"
#include "serve/text_endpoints.h"

namespace clasp::serve {

namespace {

using base::Json;

// One response under way, in the forms that its events and its whole reply have.
class Response {
   public:
    Response(const Service& service, std::shared_ptr<RunningChat> running, Json instructions)
        : running_(std::move(running)), instructions_(std::move(instructions)), model_(service.card.id) {}

    [[nodiscard]] RunningChat& running() const { return *running_; }
    [[nodiscard]] const std::string& item_id() const { return item_id_; }

    [[nodiscard]] static Json part(const std::string& text) {
        return {{"type", "output_text"},
                {"text", text},
                {"annotations", Json::array()},
                {"logprobs", Json::array()}};
    }

    // answer: null while it is being written.
    [[nodiscard]] Json item(const Answer* answer) const {
        const Json content = answer != nullptr ? Json::array({part(answer->text)}) : Json::array();
        return {{"type", "message"},
                {"id", item_id_},
                {"status", answer == nullptr ? "in_progress"
                           : is_cut(*answer) ? "incomplete"
                                             : "completed"},
                {"role", "assistant"},
                {"content", content}};
    }

    [[nodiscard]] Json json(const Answer* answer, std::string_view status) const {
        Json json = {{"id", id_},
                     {"object", "response"},
                     {"created_at", created_},
                     {"completed_at", answer != nullptr ? Json(now_s()) : Json()},
                     {"status", status},
                     {"model", model_},
                     {"output", answer != nullptr ? Json::array({item(answer)}) : Json::array()},
                     {"error", Json()},
                     {"incomplete_details", Json()},
                     {"instructions", instructions_},
                     {"metadata", Json::object()},
                     {"parallel_tool_calls", false},
                     {"tool_choice", "none"},
                     {"tools", Json::array()},
                     {"temperature", running_->generation.temperature},
                     {"top_p", running_->generation.top_p},
                     {"usage", Json()}};
        if (answer == nullptr) return json;
        if (is_cut(*answer)) json["incomplete_details"] = Json::object({{"reason", "max_output_tokens"}});
        json["usage"] = usage(*answer);
        add_figures(json, *running_);
        return json;
    }

    [[nodiscard]] static bool is_cut(const Answer& answer) { return finish_reason(answer) == "length"; }
    [[nodiscard]] static std::string_view status_of(const Answer& answer) {
        return is_cut(answer) ? "incomplete" : "completed";
    }

   private:
    [[nodiscard]] Json usage(const Answer& answer) const {
        const std::size_t n_prompt = running_->planned.n_prompt;
        return {{"input_tokens", n_prompt},
                {"input_tokens_details", Json::object({{"cached_tokens", answer.history.n_tokens}})},
                {"output_tokens", answer.generated},
                {"output_tokens_details", Json::object({{"reasoning_tokens", 0}})},
                {"total_tokens", n_prompt + answer.generated}};
    }

    std::shared_ptr<RunningChat> running_;
    Json instructions_;
    std::string model_;
    std::string id_ = random_id("resp_");
    std::string item_id_ = random_id("msg_");
    std::int64_t created_ = now_s();
};

// Its events, in the order in which clients expect them.
class ResponseStream {
   public:
    explicit ResponseStream(std::shared_ptr<Response> response) : response_(std::move(response)) {}

    void write(StreamOut& out) {
        if (!begin(out)) return;
        StreamEvents events;
        events.on_text = [&](std::size_t, const StreamPiece& piece) {
            Json data = place();
            data["delta"] = piece.text;
            data["logprobs"] = Json::array();
            return send(out, "response.output_text.delta", data);
        };
        events.on_end = [&](std::size_t, const Answer& answer) { return end(out, answer); };
        events.on_failure = [&](const Refusal& refusal) {
            Json response = response_->json(nullptr, "failed");
            response["error"] = {{"code", refusal.code}, {"message", error_json(refusal)["message"]}};
            return send(out, "response.failed", Json::object({{"response", response}}));
        };
        events.on_silence = [&] { return send_sign_of_life(out); };
        follow(response_->running(), out, events);
    }

   private:
    bool begin(StreamOut& out) {
        const Json response = Json::object({{"response", response_->json(nullptr, "in_progress")}});
        Json data = place();
        data["part"] = Response::part("");
        return send(out, "response.created", response) && send(out, "response.in_progress", response) &&
               send(out, "response.output_item.added", item(nullptr)) &&
               send(out, "response.content_part.added", data);
    }

    bool end(StreamOut& out, const Answer& answer) {
        Json text = place();
        text["text"] = answer.text;
        text["logprobs"] = Json::array();
        Json part = place();
        part["part"] = Response::part(answer.text);
        const std::string_view status = Response::status_of(answer);
        return send(out, "response.output_text.done", text) &&
               send(out, "response.content_part.done", part) &&
               send(out, "response.output_item.done", item(&answer)) &&
               send(out, "response." + std::string(status),
                    Json::object({{"response", response_->json(&answer, status)}}));
    }

    // Which text an event is about: there is only one.
    [[nodiscard]] Json place() const {
        return {{"item_id", response_->item_id()}, {"output_index", 0}, {"content_index", 0}};
    }
    [[nodiscard]] Json item(const Answer* answer) const {
        return {{"output_index", 0}, {"item", response_->item(answer)}};
    }

    bool send(StreamOut& out, const std::string& type, const Json& more) {
        Json data = {{"type", type}, {"sequence_number", n_sent_++}};
        for (const base::JsonMember& member : more.items()) data[member.key] = member.value;
        return send_event(out, type, data);
    }

    std::shared_ptr<Response> response_;
    std::size_t n_sent_ = 0;
};

HttpReply responses(Service& service, const HttpRequest& http) {
    Json body;
    ResponsesRequest request;
    if (auto refusal = read_body(http.body, service.options.http, service.options.limits, body))
        return error_reply(*refusal);
    if (auto refusal = read_responses(body, http, service.chat_context(), request))
        return error_reply(*refusal);
    body = Json();
    const bool streams = request.chat.streams;
    std::shared_ptr<RunningChat> running;
    if (auto refusal = RunningChat::start(service, std::move(request.chat), http, running))
        return error_reply(*refusal);
    HeaderList headers = running->headers();
    auto response = std::make_shared<Response>(service, running, std::move(request.instructions));
    if (streams) {
        auto stream = std::make_shared<ResponseStream>(std::move(response));
        HttpReply reply = event_stream(std::move(headers), [stream](StreamOut& out) { stream->write(out); });
        reply.note = [running] { return running->log_note(); };
        return reply;
    }
    if (!running->wait(http)) return error_reply(refusal_of(408, http.id));
    if (const Refusal* refusal = running->refusal()) return error_reply(*refusal);
    const Answer& answer = *running->jobs.front()->answer();
    HttpReply reply = json_reply(response->json(&answer, Response::status_of(answer)));
    reply.headers = std::move(headers);
    reply.note = [note = running->log_note()] { return note; };
    return reply;
}

HttpReply response_input_tokens(const Service& service, const HttpRequest& http) {
    Json body;
    ResponsesRequest request;
    std::size_t n_tokens = 0;
    if (auto refusal = read_body(http.body, service.options.http, service.options.limits, body))
        return error_reply(*refusal);
    if (auto refusal = read_responses(body, http, service.chat_context(), request))
        return error_reply(*refusal);
    if (auto refusal = count_prompt(service, request.chat, http, n_tokens)) return error_reply(*refusal);
    return json_reply({{"object", "response.input_tokens"}, {"input_tokens", n_tokens}});
}

}  // namespace

void add_responses_endpoints(Endpoints& endpoints, Service& service) {
    for (const char* path : {"/v1/responses", "/responses"}) {
        endpoints.add({.method = "POST", .path = path, .handle = [&service](const HttpRequest& http) {
                           return responses(service, http);
                       }});
    }
    endpoints.add(
        {.method = "POST",
         .path = "/v1/responses/input_tokens",
         .handle = [&service](const HttpRequest& http) { return response_input_tokens(service, http); }});
}

}  // namespace clasp::serve
