#include "serve/openai_reply.h"

#include <chrono>
#include <utility>

#include "clasp/version.h"
#include "serve/completion_json.h"
#include "serve/json_reply.h"
#include "serve/logprobs_json.h"
#include "serve/random_id.h"
#include "serve/sse.h"

namespace clasp::serve {

namespace {

using base::Json;

void add_verbose(Json& json, const RunningChat& running, std::string_view model) {
    if (!running.verbose_prompt) return;
    json["__verbose"] = completion_json(running, {.model = model, .prompt = *running.verbose_prompt});
}

// One reply as server-sent events.
class ChoiceStream {
   public:
    ChoiceStream(const Service& service, std::shared_ptr<RunningChat> running, const ChoiceForm& form)
        : envelope_(service, form.chunk_object, form.id_begin), running_(std::move(running)), form_(form) {}

    void write(StreamOut& out) {
        for (std::size_t i = 0; form_.first != nullptr && i < running_->jobs.size(); ++i) {
            if (!send_event(out, choice(i, form_.first(), Json(), Json()))) return;
        }
        StreamEvents events;
        events.on_text = [&](std::size_t i, const StreamPiece& piece) {
            std::vector<WrittenToken> tokens;
            if (piece.token) tokens.push_back(*piece.token);
            Json chunk = choice(i, form_.piece(piece.text), choice_logprobs(*running_, tokens), Json());
            if (running_->wants_timings)
                chunk["timings"] = timings_so_far(running_->planned, *running_->tokens[i]);
            return send_event(out, chunk);
        };
        events.on_progress = [&](const Progress& progress) {
            return send_event(out, progress_chunk(progress));
        };
        events.on_end = [&](std::size_t i, const Answer& answer) {
            ++n_ended_;
            Json chunk = choice(i, form_.last(), Json(), finish_reason(answer));
            // Figures ride on the last chunk of all, whichever that is.
            if (n_ended_ == running_->jobs.size() && !running_->wants_usage) add_end(chunk);
            return send_event(out, chunk);
        };
        events.on_failure = [&](const Refusal& refusal) {
            Json error = Json::object();
            error["error"] = error_json(refusal);
            return send_event(out, error);
        };
        events.on_silence = [&] { return send_sign_of_life(out); };
        if (!follow(*running_, out, events)) return;
        if (running_->wants_usage) {
            Json chunk = envelope_.json(Json::array());
            chunk["usage"] = usage_json(running_->planned, running_->answers());
            add_end(chunk);
            if (!send_event(out, chunk)) return;
        }
        out.write("data: [DONE]\n\n");
    }

   private:
    [[nodiscard]] Json choice(std::size_t i, const Json& own, Json logprobs, Json reason) const {
        Json json = {{"index", i}};
        for (const base::JsonMember& member : own.items()) json[member.key] = member.value;
        json["logprobs"] = std::move(logprobs);
        json["finish_reason"] = std::move(reason);
        return envelope_.json(Json::array({std::move(json)}));
    }

    [[nodiscard]] Json progress_chunk(const Progress& progress) const {
        Json chunk = envelope_.json(Json::array());
        add_progress(chunk, *running_, progress);
        return chunk;
    }

    void add_end(Json& chunk) const {
        add_figures(chunk, *running_);
        add_verbose(chunk, *running_, envelope_.model());
    }

    Envelope envelope_;
    std::shared_ptr<RunningChat> running_;
    ChoiceForm form_;
    std::size_t n_ended_ = 0;
};

}  // namespace

std::int64_t now_s() {
    return std::chrono::duration_cast<std::chrono::seconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

Envelope::Envelope(const Service& service, std::string_view object, std::string_view id_begin)
    : id_(random_id(id_begin)), object_(object), created_(now_s()), model_(service.card.id) {}

Json Envelope::json(Json choices) const {
    return {{"id", id_},
            {"object", object_},
            {"created", created_},
            {"model", model_},
            {"system_fingerprint", "b1-" CLASP_VERSION_STRING},
            {"choices", std::move(choices)}};
}

Json report_json(const RunningChat& running) {
    const Job& job = *running.jobs.front();
    return clasp_json(*job.answer(), job.queue_ms(), running.report);
}

void add_figures(Json& json, const RunningChat& running) {
    json["timings"] = server_timings_json(running.planned, *running.jobs.front()->answer());
    if (running.reports) json["clasp"] = report_json(running);
}

void add_progress(Json& chunk, const RunningChat& running, const Progress& progress) {
    const double share = progress.total > 0.0 ? progress.done / progress.total : 1.0;
    const Json reading = prompt_progress_json(running.planned, *running.tokens.front(), progress);
    if (running.wants_timings) chunk["timings"] = timings_of_progress(reading);
    chunk["prompt_progress"] = reading;
    chunk["clasp"] = {{"stage", phase_name(progress.phase)}, {"share", share}};
}

Json choice_logprobs(const RunningChat& running, const std::vector<WrittenToken>& tokens) {
    if (!running.generation.n_likely) return {};
    return Json::object({{"content", logprobs_json(tokens, false)}});
}

HttpReply whole_choices(const Service& service, RunningChat& running, const HttpRequest& http,
                        const ChoiceForm& form) {
    if (!running.wait(http)) return error_reply(refusal_of(408, http.id));  // nobody is there to read it
    if (const Refusal* refusal = running.refusal()) return error_reply(*refusal);
    Json choices = Json::array();
    const std::vector<const Answer*> answers = running.answers();
    for (std::size_t i = 0; i < answers.size(); ++i) {
        Json choice = {{"index", i}};
        const Json own = form.whole(*answers[i]);
        for (const base::JsonMember& member : own.items()) choice[member.key] = member.value;
        choice["logprobs"] = choice_logprobs(running, answers[i]->written);
        choice["finish_reason"] = finish_reason(*answers[i]);
        choices.push_back(std::move(choice));
    }
    Json json = Envelope(service, form.object, form.id_begin).json(std::move(choices));
    json["usage"] = usage_json(running.planned, answers);
    add_figures(json, running);
    add_verbose(json, running, service.card.id);
    HttpReply reply = json_reply(json);
    reply.headers = running.headers();
    reply.note = [note = running.log_note()] { return note; };
    return reply;
}

HttpReply streamed_choices(const Service& service, std::shared_ptr<RunningChat> running,
                           const ChoiceForm& form) {
    HeaderList headers = running->headers();
    auto stream = std::make_shared<ChoiceStream>(service, running, form);
    HttpReply reply = event_stream(std::move(headers), [stream](StreamOut& out) { stream->write(out); });
    reply.note = [running = std::move(running)] { return running->log_note(); };
    return reply;
}

}  // namespace clasp::serve
