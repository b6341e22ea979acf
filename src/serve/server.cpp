#include "serve/server.h"

#include <optional>
#include <utility>

#include "base/text.h"
#include "clasp/version.h"
#include "serve/endpoints.h"
#include "serve/http_server.h"
#include "serve/ollama.h"
#include "serve/openai.h"
#include "serve/own_endpoints.h"
#include "serve/page_endpoints.h"
#include "serve/service.h"
#include "serve/watch_endpoints.h"

namespace clasp::serve {

namespace {

HttpReply health(const Scheduler& scheduler) {
    HttpReply reply;
    if (scheduler.is_draining()) {
        return error_reply({.status = 503,
                            .type = "unavailable_error",
                            .code = "draining",
                            .message = "the server is shutting down",
                            .retry_after_s = 1});
    }
    reply.body = R"({"status":"ok"})";
    return reply;
}

// What a web page asks before it asks.
HttpReply preflight() {
    HttpReply reply;
    reply.status = 204;
    reply.headers = {
        {"Access-Control-Allow-Methods", "GET, POST, OPTIONS"},
        {"Access-Control-Allow-Headers",
         "authorization, content-type, x-api-key, x-request-id, x-clasp-budget, x-clasp-method, "
         "x-stainless-arch, x-stainless-lang, x-stainless-os, x-stainless-package-version, "
         "x-stainless-retry-count, x-stainless-runtime, x-stainless-runtime-version, x-stainless-timeout"},
        {"Access-Control-Max-Age", "600"}};
    return reply;
}

}  // namespace

struct Server::State {
    State(const Engine& engine, ServeOptions given)
        : options(std::move(given)),
          card(make_model_card(engine, options)),
          scheduler(
              engine,
              {.parallel = options.parallel, .max_kv_bytes = options.max_kv_bytes, .limits = options.limits}),
          encodings(options.settings.engine.cached_images),
          service{engine, options, card, scheduler, encodings, metrics},
          endpoints(options.api_prefix),
          http(options.http, handlers()) {
        for (const char* path : {"/health", "/v1/health"}) {
            endpoints.add({.method = "GET",
                           .path = path,
                           .handle = [this](const HttpRequest&) { return health(scheduler); },
                           .is_open = true});
        }
        add_openai_endpoints(endpoints, service);
        add_ollama_endpoints(endpoints, service);
        if (options.has_page) add_page_endpoints(endpoints);  // before the words on "/" that stand in for it
        add_own_endpoints(endpoints, service);
        add_watch_endpoints(endpoints, service);
        add_refused_endpoints(endpoints);
    }

    HttpHandlers handlers() {
        HttpHandlers handlers;
        handlers.check = [this](const HttpRequest& head) { return check(head); };
        handlers.handle = [this](const HttpRequest& request) {
            return endpoints.find(request).endpoint->handle(request);
        };
        handlers.refuse = [this](const HttpRequest& head, int status) {
            return error_reply(refusal_of(status, head.id), endpoints.find(head).form);
        };
        handlers.common_headers = [](const HttpRequest& head) { return common_headers(head); };
        handlers.on_reply = [this](const HttpRequest& head, int status, std::size_t bytes) {
            const Endpoint* endpoint = endpoints.find(head).endpoint;
            metrics.count_reply(endpoint != nullptr ? endpoint->path : "other", status);
            log(options.log, LogLevel::Info,
                base::printable(head.id + " " + head.method + " " + head.path, 256) + " " +
                    std::to_string(status) + " " + std::to_string(bytes));
        };
        return handlers;
    }

    // One check for all routes, before a body is read.
    std::optional<HttpReply> check(const HttpRequest& head) const {
        const Endpoints::Match match = endpoints.find(head);
        const bool is_open = match.endpoint != nullptr && match.endpoint->is_open;
        if (const Check refusal = check_access(head, options.access, is_open)) {
            return error_reply(*refusal, match.form);
        }
        if (head.method == "OPTIONS") return preflight();
        if (match.endpoint != nullptr) return std::nullopt;
        HttpReply reply = error_reply(refusal_of(match.allowed.empty() ? 404 : 405, head.id), match.form);
        std::string allowed;
        for (const std::string& method : match.allowed) allowed += (allowed.empty() ? "" : ", ") + method;
        if (!allowed.empty()) reply.headers.emplace_back("Allow", allowed);
        return reply;
    }

    static HeaderList common_headers(const HttpRequest& head) {
        HeaderList headers = {{"X-Request-Id", head.id},
                              {"Server", "clasp-vlm/" CLASP_VERSION_STRING},
                              {"X-Content-Type-Options", "nosniff"}};
        // Whoever gets here with an Origin was allowed to ask; refusals may be read by the page too.
        if (const std::string* origin = head.header("Origin")) {
            headers.emplace_back("Access-Control-Allow-Origin", *origin);
            headers.emplace_back("Vary", "Origin");
            headers.emplace_back("Access-Control-Expose-Headers",
                                 "X-Request-Id, X-Clasp-Tokens, X-Clasp-Class");
        }
        return headers;
    }

    const ServeOptions options;
    const ModelCard card;
    Scheduler scheduler;
    Encodings encodings;
    Metrics metrics;
    Service service;
    Endpoints endpoints;
    HttpServer http;
};

Server::Server(const Engine& engine, ServeOptions options)
    : state_(std::make_unique<State>(engine, std::move(options))) {}

Server::~Server() {
    state_->http.stop_listening();
    state_->scheduler.drain();
    state_->scheduler.cancel_all();
    state_->http.join();
}

Status Server::start() {
    return state_->http.start(state_->options.host, state_->options.port);
}

int Server::port() const {
    return state_->http.port();
}

std::string Server::url() const {
    const std::string& host = state_->options.host;
    const bool is_ipv6 = host.find(':') != std::string::npos;
    return "http://" + (is_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port());
}

bool Server::drain(std::chrono::milliseconds time) {
    state_->scheduler.drain();
    state_->http.stop_listening();
    const bool is_idle = state_->scheduler.wait_until_idle(time);
    if (!is_idle) state_->scheduler.cancel_all();
    state_->http.join();
    return is_idle;
}

SchedulerCounts Server::counts() const {
    return state_->scheduler.counts();
}

Status check_exposure(const std::string& host, bool has_keys, bool wants_no_keys) {
    const bool is_loopback = host == "localhost" || host == "::1" || host.starts_with("127.");
    if (is_loopback || has_keys || wants_no_keys) return ok_status();
    return {Code::InvalidArgument, "--host " + base::printable(host, 256) +
                                       " can be reached from other machines; give an --api-key, or --no-auth "
                                       "if everybody may use this server"};
}

}  // namespace clasp::serve
