#include "serve/watch_endpoints.h"

#include <filesystem>

#include "clasp/version.h"
#include "engine/engine_state.h"
#include "llama.h"
#include "serve/completion_request.h"
#include "serve/json_reply.h"
#include "serve/sampling_fields.h"

namespace clasp::serve {

namespace {

HttpReply disabled(const std::string& message) {
    return error_reply(
        {.status = 501, .type = "not_supported_error", .code = "disabled", .message = message});
}

std::size_t image_cache_bytes(const Service& service) {
    const auto& memory = service.engine.state().memory;
    return memory != nullptr ? memory->layers().bytes() : 0;
}

HttpReply metrics(const Service& service) {
    if (!service.options.shows_metrics) return disabled("the server was started without --metrics");
    HttpReply reply;
    reply.type = "text/plain; version=0.0.4";
    reply.body = service.metrics.text(service.scheduler.counts(), image_cache_bytes(service));
    reply.headers.emplace_back("Process-Start-Time-Unix", std::to_string(service.metrics.started_s()));
    return reply;
}

// Empty where the vocabulary has no such token.
std::string token_text(const model::TextModel& text, std::int32_t token) {
    return token >= 0 ? text.piece(token, true) : std::string();
}

HttpReply slots(const Service& service) {
    if (!service.options.shows_slots) return disabled("the server was started without --slots");
    return json_reply(service.slots.json());
}

HttpReply properties(const Service& service) {
    const model::TextModel& text = *service.engine.state().text;
    GenerationOptions generation = service.options.settings.request.generation;
    generation.max_tokens = service.options.limits.output_tokens_unasked();
    return json_reply(
        {{"default_generation_settings",
          {{"n_ctx", service.card.n_context}, {"params", generation_json(generation)}}},
         {"total_slots", service.options.parallel},
         {"model_alias", service.card.id},
         {"model_path", std::filesystem::path(service.options.model_file).filename().string()},
         {"modalities", {{"vision", service.card.has_vision}, {"video", false}, {"audio", false}}},
         {"media_marker", kMediaMarker},
         {"chat_template", service.card.chat_template},
         {"bos_token", token_text(text, llama_vocab_bos(text.vocabulary()))},
         {"eos_token", token_text(text, llama_vocab_eos(text.vocabulary()))},
         {"build_info", "clasp-vlm " CLASP_VERSION_STRING},
         {"endpoint_slots", service.options.shows_slots},
         {"endpoint_props", false},
         {"endpoint_metrics", service.options.shows_metrics}});
}

}  // namespace

void add_watch_endpoints(Endpoints& endpoints, Service& service) {
    endpoints.add({.method = "GET", .path = "/metrics", .handle = [&service](const HttpRequest&) {
                       return metrics(service);
                   }});
    endpoints.add({.method = "GET", .path = "/props", .handle = [&service](const HttpRequest&) {
                       return properties(service);
                   }});
    endpoints.add({.method = "POST", .path = "/props", .handle = [](const HttpRequest&) {
                       return disabled("properties are set when the server starts");
                   }});
    endpoints.add({.method = "GET", .path = "/slots", .handle = [&service](const HttpRequest&) {
                       return slots(service);
                   }});
}

}  // namespace clasp::serve
