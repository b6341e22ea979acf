#include "serve/openai.h"

#include <chrono>
#include <memory>
#include <utility>

#include "base/stopwatch.h"
#include "clasp/version.h"
#include "serve/json_reply.h"
#include "serve/random_id.h"

namespace clasp::serve {

namespace {

using base::Json;

std::int64_t now_s() {
    return std::chrono::duration_cast<std::chrono::seconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

// What all chunks of a reply begin with.
class Envelope {
   public:
    Envelope(const Service& service, std::string_view object)
        : id_(random_id("chatcmpl-")), object_(object), created_(now_s()), model_(service.card.id) {}

    [[nodiscard]] Json json(Json choices) const {
        return {{"id", id_},
                {"object", object_},
                {"created", created_},
                {"model", model_},
                {"system_fingerprint", "b1-" CLASP_VERSION_STRING},
                {"choices", std::move(choices)}};
    }

   private:
    std::string id_;
    std::string object_;
    std::int64_t created_;
    std::string model_;
};

// Timings of the first choice, and the clasp object if it is wanted.
void add_figures(Json& json, const RunningChat& running) {
    const Job& job = *running.jobs.front();
    json["timings"] = server_timings_json(running.planned, *job.answer());
    if (running.reports) json["clasp"] = clasp_json(*job.answer(), job.queue_ms(), running.report);
}

HttpReply whole_reply(const Service& service, RunningChat& running, const HttpRequest& http) {
    if (!running.wait(http)) return error_reply(refusal_of(408, http.id));  // nobody is there to read it
    if (const Refusal* refusal = running.refusal()) return error_reply(*refusal);
    Json choices = Json::array();
    const std::vector<const Answer*> answers = running.answers();
    for (std::size_t i = 0; i < answers.size(); ++i) {
        choices.push_back(
            {{"index", i},
             {"message", {{"role", "assistant"}, {"content", answers[i]->text}, {"refusal", Json()}}},
             {"logprobs", Json()},
             {"finish_reason", finish_reason(*answers[i])}});
    }
    Json json = Envelope(service, "chat.completion").json(std::move(choices));
    json["usage"] = usage_json(running.planned, answers);
    add_figures(json, running);
    HttpReply reply = json_reply(json);
    reply.headers = running.headers();
    return reply;
}

// One reply as server-sent events.
class ChatStream {
   public:
    ChatStream(const Service& service, std::shared_ptr<RunningChat> running)
        : envelope_(service, "chat.completion.chunk"), running_(std::move(running)) {}

    void write(StreamOut& out) {
        for (std::size_t i = 0; i < running_->jobs.size(); ++i) {
            if (!send(out, choice(i, {{"role", "assistant"}, {"content", Json()}}, Json()))) return;
        }
        StreamEvents events;
        events.on_text = [&](std::size_t i, const std::string& text) {
            return send(out, choice(i, {{"content", text}}, Json()));
        };
        events.on_progress = [&](const Progress& progress) { return send(out, progress_chunk(progress)); };
        events.on_end = [&](std::size_t i, const Answer& answer) {
            ++n_ended_;
            Json chunk = choice(i, Json::object(), finish_reason(answer));
            // Figures ride on the last chunk of all, whichever that is.
            if (n_ended_ == running_->jobs.size() && !running_->wants_usage) add_figures(chunk, *running_);
            return send(out, chunk);
        };
        events.on_failure = [&](const Refusal& refusal) {
            Json error = Json::object();
            error["error"] = error_json(refusal);
            return send(out, error);
        };
        events.on_silence = [&] { return out.write(":\n\n"); };
        if (!follow(*running_, out, events)) return;
        if (running_->wants_usage) {
            Json chunk = envelope_.json(Json::array());
            chunk["usage"] = usage_json(running_->planned, running_->answers());
            add_figures(chunk, *running_);
            if (!send(out, chunk)) return;
        }
        out.write("data: [DONE]\n\n");
    }

   private:
    [[nodiscard]] Json choice(std::size_t i, Json delta, Json reason) const {
        return envelope_.json(Json::array({Json::object({{"index", i},
                                                         {"delta", std::move(delta)},
                                                         {"logprobs", Json()},
                                                         {"finish_reason", std::move(reason)}})}));
    }

    [[nodiscard]] Json progress_chunk(const Progress& progress) const {
        const double share = progress.total > 0.0 ? progress.done / progress.total : 1.0;
        const bool is_reading = progress.phase == Progress::Phase::Prefill;
        const auto n_prompt = running_->planned.n_prompt;
        Json chunk = envelope_.json(Json::array());
        chunk["prompt_progress"] = {
            {"total", n_prompt},
            {"cache", 0},
            {"processed", is_reading ? static_cast<std::size_t>(share * static_cast<double>(n_prompt)) : 0},
            {"time_ms", static_cast<std::int64_t>(watch_.elapsed_ms())}};
        chunk["clasp"] = {{"stage", phase_name(progress.phase)}, {"share", share}};
        return chunk;
    }

    static bool send(StreamOut& out, const Json& json) {
        return out.write("data: " + base::dump_json(json) + "\n\n");
    }

    Envelope envelope_;
    std::shared_ptr<RunningChat> running_;
    base::Stopwatch watch_;
    std::size_t n_ended_ = 0;
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
    std::shared_ptr<RunningChat> running;
    if (auto refusal = RunningChat::start(service, std::move(chat), http, running)) return refused(*refusal);
    if (!streams) return whole_reply(service, *running, http);
    HttpReply reply;
    reply.type = "text/event-stream";
    reply.headers = running->headers();
    reply.headers.emplace_back("Cache-Control", "no-cache");
    reply.headers.emplace_back("X-Accel-Buffering", "no");
    reply.stream = [stream = std::make_shared<ChatStream>(service, std::move(running))](StreamOut& out) {
        stream->write(out);
    };
    return reply;
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
