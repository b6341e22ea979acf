#include "serve/own_endpoints.h"

#include <array>
#include <utility>

#include "base/sha256.h"
#include "clasp/version.h"
#include "engine/engine_state.h"
#include "methods/method.h"
#include "request/message_json.h"
#include "request/question_text.h"
#include "request/route_json.h"
#include "serve/json_reply.h"

namespace clasp::serve {

namespace {

using base::Json;

Json limits_json(const ServeOptions& options) {
    return {
        {"body_bytes", options.http.max_body_bytes},     {"images", options.limits.max_images},
        {"image_bytes", options.limits.max_image_bytes}, {"image_pixels", ImageLimits().max_pixels},
        {"image_side", ImageLimits().max_side},          {"output_tokens", options.limits.max_output_tokens},
        {"choices", options.limits.max_choices},         {"queue", options.limits.max_queue},
        {"per_client", options.limits.max_per_client},   {"parallel", options.parallel}};
}

// What prompts and pictures have taken here; null before the first.
Json timing_json(const Service& service) {
    const auto figures = service.engine.state().timing.figures();
    if (!figures) return nullptr;
    return {{"prefill_ms", figures->per_prompt},
            {"prefill_ms_per_token", figures->per_token},
            {"encode_ms", figures->encode ? Json(*figures->encode) : Json(nullptr)},
            {"prompts", figures->n_prompts}};
}

// What a request gets that names no budget.
std::string asked_by_default(const request::Settings& settings) {
    const AskRequest& request = settings.request;
    if (request.vanilla) return "none";
    if (!request.schedule_name.empty()) return request.schedule_name;
    return request.forced_stages.empty() ? to_text(request.budget) : to_text(request.forced_stages);
}

std::string method_by_default(const Service& service) {
    const AskRequest& request = service.options.settings.request;
    if (!request.method.empty()) return request.method;
    return request.policy.classes.empty() ? service.engine.policy().method : request.policy.method;
}

HttpReply info(const Service& service) {
    const ModelInfo& model = service.card.info;
    Json methods = Json::array();
    Json method_options = Json::object();
    for (const methods::Method& method : methods::all_methods()) {
        methods.push_back(method.name);
        Json options = Json::array();
        for (const methods::OptionSpec& option : method.options) {
            options.push_back({{"name", option.name}, {"help", option.help}});
        }
        method_options[method.name] = std::move(options);
    }
    Json classes = Json::array();
    for (const RouteClass& one : service.engine.state().router->classes()) {
        classes.push_back({{"id", one.id}, {"name", one.name}});
    }
    Json presets = Json::object();
    for (const auto& [name, clasp] : service.options.presets) presets[name] = clasp;
    const GenerationOptions& generation = service.options.settings.request.generation;
    return json_reply({{"version", CLASP_VERSION_STRING},
                       {"model",
                        {{"id", service.card.id},
                         {"name", model.name},
                         {"architecture", model.architecture},
                         {"weight_type", model.weight_type},
                         {"layers", model.n_layers},
                         {"context", service.card.n_context},
                         {"vision", service.card.has_vision},
                         {"vision_blocks", model.vision_blocks},
                         {"feature_layer", model.feature_layer},
                         {"grid", Json::array({model.grid.width, model.grid.height})}}},
                       {"policy", service.engine.policy().name},
                       {"policies", std::vector<std::string_view>(profile_names())},
                       {"methods", methods},
                       {"method_options", method_options},
                       {"classes", classes},
                       {"presets", presets},
                       {"limits", limits_json(service.options)},
                       {"timing", timing_json(service)},
                       {"defaults",
                        {{"budget", asked_by_default(service.options.settings)},
                         {"method", method_by_default(service)},
                         {"history", history_mode_name(service.options.settings.request.history_mode)},
                         {"max_tokens", service.options.limits.output_tokens_unasked()},
                         {"temperature", generation.temperature},
                         {"top_p", generation.top_p},
                         {"seed", generation.seed}}}});
}

HttpReply route(const Service& service, const HttpRequest& http) {
    Json body;
    if (auto refusal = read_body(http.body, service.options.http, service.options.limits, body))
        return error_reply(*refusal);
    std::string question;
    if (auto refusal = Fields(body).read("question", question)) return error_reply(*refusal);
    const Status status = request::check_question(question);
    if (!status.ok()) return error_reply(bad_field("missing", "question", status.message()));
    const Router& router = *service.engine.state().router;
    return json_reply(request::route_json(router.route(question), router));
}

HttpReply encode(Service& service, const HttpRequest& http) {
    Json body;
    if (auto refusal = read_body(http.body, service.options.http, service.options.limits, body))
        return error_reply(*refusal);
    ChatRequest chat;
    request::Settings settings;
    const ChatContext context = service.chat_context();
    const Fields fields(body);
    if (auto refusal = read_clasp(Json(), http, fields.find("clasp"), context, settings, chat))
        return error_reply(*refusal);
    const Json image = {{"type", "image_url"}, {"image_url", body["image"]}};
    // Any question will do: what is kept serves them all.
    const Json words = {{"type", "text"}, {"text", "What is this?"}};
    const Json message = {{"role", "user"}, {"content", Json::array({image, words})}};
    if (auto refusal = read_conversation(Json::array({message}), context, settings, chat)) {
        refusal->param = "image";
        return error_reply(*refusal);
    }
    const std::string hash = base::sha256_hex(chat.pictures.front());
    bool is_cached = false;
    if (auto refusal = service.encodings.start(service, std::move(chat), http, hash, is_cached))
        return error_reply(*refusal);
    return json_reply({{"sha256", hash}, {"state", is_cached ? "cached" : "queued"}}, 202);
}

}  // namespace

void add_own_endpoints(Endpoints& endpoints, Service& service) {
    // For servers without the page: clients of Ollama look here whether somebody is at home.
    endpoints.add(
        {.method = "HEAD",
         .path = "/",
         .handle = [](const HttpRequest&) { return HttpReply{.type = "text/plain; charset=utf-8"}; },
         .is_open = true});
    endpoints.add({.method = "GET", .path = "/clasp/info", .handle = [&service](const HttpRequest&) {
                       return info(service);
                   }});
    endpoints.add({.method = "POST", .path = "/clasp/route", .handle = [&service](const HttpRequest& http) {
                       return route(service, http);
                   }});
    endpoints.add({.method = "POST", .path = "/clasp/encode", .handle = [&service](const HttpRequest& http) {
                       return encode(service, http);
                   }});
}

void add_refused_endpoints(Endpoints& endpoints) {
    struct Refused {
        const char* method;
        const char* path;
        ErrorForm form;
    };
    constexpr auto kOllama = ErrorForm::Ollama;
    constexpr auto kOpenAi = ErrorForm::OpenAi;
    constexpr std::array<Refused, 21> kRefused = {{
        {"POST", "/api/pull", kOllama},
        {"POST", "/api/push", kOllama},
        {"POST", "/api/create", kOllama},
        {"POST", "/api/copy", kOllama},
        {"DELETE", "/api/delete", kOllama},
        {"POST", "/api/embed", kOllama},
        {"POST", "/api/embeddings", kOllama},
        {"POST", "/v1/embeddings", kOpenAi},
        {"POST", "/embeddings", kOpenAi},
        {"POST", "/embedding", kOpenAi},
        {"POST", "/v1/rerank", kOpenAi},
        {"POST", "/rerank", kOpenAi},
        {"POST", "/reranking", kOpenAi},
        {"POST", "/v1/reranking", kOpenAi},
        {"POST", "/infill", kOpenAi},
        {"GET", "/lora-adapters", kOpenAi},
        {"POST", "/lora-adapters", kOpenAi},
        {"POST", "/slots/*", kOpenAi},
        {"POST", "/v1/audio/transcriptions", kOpenAi},
        {"POST", "/v1/audio/translations", kOpenAi},
        {"POST", "/v1/audio/speech", kOpenAi},
    }};
    for (const Refused& refused : kRefused) {
        endpoints.add({.method = refused.method,
                       .path = refused.path,
                       .handle =
                           [form = refused.form](const HttpRequest&) {
                               return error_reply({.status = 501,
                                                   .type = "not_supported_error",
                                                   .code = "not_supported",
                                                   .message = "this server does not do that"},
                                                  form);
                           },
                       .form = refused.form});
    }
}

}  // namespace clasp::serve
