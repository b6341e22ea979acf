#include "serve/watch_endpoints.h"

#include <filesystem>

#include "clasp/version.h"
#include "serve/json_reply.h"

namespace clasp::serve {

namespace {

HttpReply disabled(const std::string& message) {
    return error_reply(
        {.status = 501, .type = "not_supported_error", .code = "disabled", .message = message});
}

HttpReply metrics(const Service& service) {
    if (!service.options.shows_metrics) return disabled("the server was started without --metrics");
    HttpReply reply;
    reply.type = "text/plain; version=0.0.4";
    reply.body = service.metrics.text(service.scheduler.counts());
    reply.headers.emplace_back("Process-Start-Time-Unix", std::to_string(service.metrics.started_s()));
    return reply;
}

HttpReply properties(const Service& service) {
    const GenerationOptions& generation = service.options.settings.request.generation;
    return json_reply(
        {{"default_generation_settings",
          {{"n_ctx", service.card.info.context_length},
           {"params",
            {{"temperature", generation.temperature},
             {"top_p", generation.top_p},
             {"seed", generation.seed},
             {"max_tokens", service.options.limits.max_output_tokens}}}}},
         {"total_slots", service.options.parallel},
         {"model_alias", service.card.id},
         {"model_path", std::filesystem::path(service.options.model_file).filename().string()},
         {"modalities", {{"vision", service.card.has_vision}, {"video", false}, {"audio", false}}},
         {"build_info", "clasp-vlm " CLASP_VERSION_STRING},
         {"endpoint_slots", false},
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
    endpoints.add({.method = "GET", .path = "/slots", .handle = [](const HttpRequest&) {
                       return disabled("this server does not tell what its requests do");
                   }});
}

}  // namespace clasp::serve
