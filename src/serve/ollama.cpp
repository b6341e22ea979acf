#include "serve/ollama.h"

#include <chrono>
#include <memory>
#include <utility>

#include "base/text.h"
#include "clasp/version.h"
#include "serve/json_reply.h"
#include "serve/ollama_request.h"

namespace clasp::serve {

namespace {

using base::Json;

// The level of the API that is imitated.
constexpr const char* kApiVersion = "0.13.3";

std::string time_now() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
    return iso_time(microseconds / 1'000'000, microseconds % 1'000'000);
}

std::int64_t nanoseconds(double ms) {
    return static_cast<std::int64_t>(ms * 1e6);
}

// chat and generate differ in where the text stands.
enum class Kind : std::uint8_t { Chat, Generate };

class OllamaReply {
   public:
    OllamaReply(const Service& service, Kind kind) : model_(service.card.id), kind_(kind) {}

    [[nodiscard]] Json piece(const std::string& text, bool is_done) const {
        Json json = {{"model", model_}, {"created_at", time_now()}};
        if (kind_ == Kind::Chat) {
            json["message"] = {{"role", "assistant"}, {"content", text}};
        } else {
            json["response"] = text;
        }
        json["done"] = is_done;
        return json;
    }

    // text: empty at the end of a stream.
    [[nodiscard]] Json end(const std::string& text, const RunningChat& running) const {
        const Job& job = *running.jobs.front();
        const Answer& answer = *job.answer();
        Json json = piece(text, true);
        json["done_reason"] = finish_reason(answer);
        json["total_duration"] = nanoseconds(answer.timings.total_ms);
        json["load_duration"] = 0;
        json["prompt_eval_count"] = running.planned.n_prompt;
        json["prompt_eval_duration"] = nanoseconds(answer.timings.first_token_ms);
        json["eval_count"] = answer.generated;
        json["eval_duration"] = nanoseconds(answer.timings.decode_ms);
        if (running.reports) json["clasp"] = clasp_json(answer, job.queue_ms(), running.report);
        return json;
    }

   private:
    std::string model_;
    Kind kind_;
};

HttpReply refused(const Refusal& refusal) {
    return error_reply(refusal, ErrorForm::Ollama);
}

HttpReply whole_reply(const OllamaReply& form, RunningChat& running, const HttpRequest& http) {
    if (!running.wait(http)) return refused(refusal_of(408, http.id));  // nobody is there to read it
    if (const Refusal* refusal = running.refusal()) return refused(*refusal);
    HttpReply reply = json_reply(form.end(running.jobs.front()->answer()->text, running));
    reply.headers = running.headers();
    reply.note = [note = running.log_note()] { return note; };
    return reply;
}

HttpReply streamed_reply(const OllamaReply& form, std::shared_ptr<RunningChat> running) {
    HttpReply reply;
    reply.type = "application/x-ndjson";
    reply.headers = running->headers();
    reply.note = [running] { return running->log_note(); };
    reply.stream = [form, running](StreamOut& out) {
        const auto send = [&out](const Json& json) { return out.write(base::dump_json(json) + "\n"); };
        StreamEvents events;
        events.on_text = [&](std::size_t, const StreamPiece& piece) {
            return send(form.piece(piece.text, false));
        };
        events.on_end = [&](std::size_t, const Answer&) { return send(form.end("", *running)); };
        events.on_failure = [&](const Refusal& refusal) {
            return send(Json::object({{"error", error_json(refusal)["message"]}}));
        };
        follow(*running, out, events);
    };
    return reply;
}

HttpReply answer(Service& service, Kind kind, const HttpRequest& http) {
    Json body;
    if (auto refusal = read_body(http.body, service.options.http, service.options.limits, body))
        return refused(*refusal);
    ChatRequest chat;
    bool is_empty = false;
    const auto read = kind == Kind::Chat ? read_ollama_chat : read_ollama_generate;
    if (auto refusal = read(body, http, service.chat_context(), chat, is_empty)) return refused(*refusal);
    const OllamaReply form(service, kind);
    if (is_empty) {
        const Json& stay = body["keep_alive"];
        const bool unloads = stay == Json(0) || stay == Json("0") || stay == Json("0s") || stay == Json("0m");
        Json json = form.piece("", true);
        json["done_reason"] = unloads ? "unload" : "load";
        return json_reply(json);
    }
    body = Json();
    const bool streams = chat.streams;
    std::shared_ptr<RunningChat> running;
    if (auto refusal = RunningChat::start(service, std::move(chat), http, running)) return refused(*refusal);
    return streams ? streamed_reply(form, std::move(running)) : whole_reply(form, *running, http);
}

Json tags_json(const ModelCard& card, bool is_running) {
    std::vector<std::string> names = {card.id + ":latest"};
    names.insert(names.end(), card.preset_ids.begin(), card.preset_ids.end());
    Json models = Json::array();
    for (const std::string& name : names) {
        Json model = {{"name", name},
                      {"model", name},
                      {"modified_at", card.modified_at()},
                      {"size", card.size_bytes},
                      {"digest", card.digest},
                      {"details", card.details_json()}};
        if (is_running) {
            model["expires_at"] = "2318-01-01T00:00:00Z";
            model["size_vram"] = 0;
        }
        models.push_back(std::move(model));
        if (is_running) break;  // one model runs, whatever it is called
    }
    return Json::object({{"models", models}});
}

// The server's defaults as a line for each.
std::string parameters_text(const Service& service) {
    const GenerationOptions& generation = service.options.settings.request.generation;
    return "temperature " + base::format_number(generation.temperature) + "\ntop_p " +
           base::format_number(generation.top_p) + "\nseed " + std::to_string(generation.seed);
}

HttpReply show(const Service& service, const HttpRequest& http) {
    Json body;
    if (auto refusal = read_body(http.body, service.options.http, service.options.limits, body))
        return refused(*refusal);
    const Fields fields(body);
    std::string model;
    Json tag;
    for (const char* key : {"name", "model"}) {
        if (auto refusal = fields.read(key, model)) return refused(*refusal);
    }
    const ModelCard& card = service.card;
    if (model.empty()) return refused(bad_field("missing", "model", "model is missing"));
    if (auto refusal = read_model(model, service.chat_context(), tag)) return refused(*refusal);
    Json capabilities = Json::array({"completion"});
    if (card.has_vision) capabilities.push_back("vision");
    const std::string& architecture = card.info.architecture;
    Json info = {{"general.architecture", architecture}};
    info[architecture + ".context_length"] = card.n_context;
    info[architecture + ".embedding_length"] = card.info.width;
    info[architecture + ".block_count"] = card.info.n_layers;
    info["general.parameter_count"] = card.n_parameters;
    return json_reply({{"modelfile", ""},
                       {"parameters", parameters_text(service)},
                       {"template", card.chat_template},
                       {"modified_at", card.modified_at()},
                       {"details", card.details_json()},
                       {"model_info", info},
                       {"capabilities", capabilities}});
}

}  // namespace

void add_ollama_endpoints(Endpoints& endpoints, Service& service) {
    const auto add = [&endpoints](const char* method, const char* path,
                                  std::function<HttpReply(const HttpRequest&)> handle) {
        endpoints.add(
            {.method = method, .path = path, .handle = std::move(handle), .form = ErrorForm::Ollama});
    };
    add("POST", "/api/chat",
        [&service](const HttpRequest& http) { return answer(service, Kind::Chat, http); });
    add("POST", "/api/generate",
        [&service](const HttpRequest& http) { return answer(service, Kind::Generate, http); });
    add("POST", "/api/show", [&service](const HttpRequest& http) { return show(service, http); });
    add("GET", "/api/tags",
        [&service](const HttpRequest&) { return json_reply(tags_json(service.card, false)); });
    add("GET", "/api/ps",
        [&service](const HttpRequest&) { return json_reply(tags_json(service.card, true)); });
    add("GET", "/api/version", [](const HttpRequest&) {
        return json_reply({{"version", kApiVersion}, {"clasp", CLASP_VERSION_STRING}});
    });
}

}  // namespace clasp::serve
