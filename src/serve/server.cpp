#include "serve/server.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "clasp/version.h"
#include "serve/anthropic.h"
#include "serve/completion.h"
#include "serve/endpoints.h"
#include "serve/http_server.h"
#include "serve/ollama.h"
#include "serve/openai.h"
#include "serve/own_endpoints.h"
#include "serve/page_endpoints.h"
#include "serve/responses.h"
#include "serve/service.h"
#include "serve/text_endpoints.h"
#include "serve/watch_endpoints.h"

namespace clasp::serve {

namespace {

constexpr std::array<const char*, 2> kHealthPaths = {"/health", "/v1/health"};

Refusal loading() {
    return {.status = 503,
            .type = "unavailable_error",
            .code = "loading",
            .message = "Loading model",
            .retry_after_s = 1};
}

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
         "accept, authorization, content-type, x-api-key, anthropic-version, anthropic-beta, "
         "anthropic-dangerous-direct-browser-access, openai-organization, openai-project, traceparent, "
         "x-request-id, x-clasp-budget, x-clasp-method, x-stainless-arch, x-stainless-helper-method, "
         "x-stainless-lang, x-stainless-os, x-stainless-package-version, x-stainless-retry-count, "
         "x-stainless-runtime, x-stainless-runtime-version, x-stainless-timeout"},
        {"Access-Control-Max-Age", "600"}};
    return reply;
}

// W3C's header that ties requests of several servers together.
bool is_traceparent(std::string_view text) {
    constexpr std::array<std::size_t, 4> kLengths = {2, 32, 16, 2};
    const std::vector<std::string_view> parts = base::split(text, '-');
    if (parts.size() != kLengths.size() || parts[0] == "ff") return false;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].size() != kLengths[i]) return false;
        if (parts[i].find_first_not_of("0123456789abcdef") != std::string_view::npos) return false;
    }
    return parts[1].find_first_not_of('0') != std::string_view::npos &&
           parts[2].find_first_not_of('0') != std::string_view::npos;
}

// Never what was asked or answered, a picture, a key or a query.
std::string log_line(const HttpRequest& head, const ReplyFacts& facts) {
    std::string line = base::printable(head.id + " " + head.method + " " + head.path, 256) + " " +
                       std::to_string(facts.status) + " " + std::to_string(facts.bytes) + " bytes " +
                       base::format_number(facts.ms, 1) + " ms";
    if (!facts.code.empty()) line += " code=" + facts.code;
    if (!facts.note.empty()) line += " " + facts.note;
    const std::string* trace = head.header("traceparent");
    if (trace != nullptr && is_traceparent(*trace)) line += " traceparent=" + *trace;
    return line;
}

// What there is once the model is.
struct Loaded {
    Loaded(const Engine& engine, const ServeOptions& options, Metrics& metrics)
        : card(make_model_card(engine, options)),
          scheduler(engine, {.parallel = options.parallel,
                             .max_kv_bytes = options.max_kv_bytes,
                             .cached_images = options.settings.engine.cached_images,
                             .context = card.n_context,
                             .limits = options.limits,
                             .log = options.log}),
          encodings(options.settings.engine.cached_images),
          slots(options.parallel, card.n_context),
          service{engine, options, card, scheduler, encodings, metrics, slots},
          endpoints(options.api_prefix) {
        for (const char* path : kHealthPaths) {
            endpoints.add({.method = "GET",
                           .path = path,
                           .handle = [this](const HttpRequest&) { return health(scheduler); },
                           .is_open = true});
        }
        add_openai_endpoints(endpoints, service);
        add_completion_endpoints(endpoints, service);
        add_text_endpoints(endpoints, service);
        add_responses_endpoints(endpoints, service);
        add_anthropic_endpoints(endpoints, service);
        add_ollama_endpoints(endpoints, service);
        if (options.has_page)
            add_page_endpoints(endpoints, options.ui_dir);  // before the words on "/" that stand in for it
        add_own_endpoints(endpoints, service);
        add_watch_endpoints(endpoints, service);
        add_refused_endpoints(endpoints);
    }
    Loaded(const Loaded&) = delete;
    Loaded& operator=(const Loaded&) = delete;

    const ModelCard card;
    Scheduler scheduler;
    Encodings encodings;
    Slots slots;
    Service service;
    Endpoints endpoints;
};

}  // namespace

struct Server::State {
    explicit State(ServeOptions given) : options(std::move(given)), lobby(options.api_prefix) {
        for (const std::string_view host : base::split(options.host, ',')) {
            hosts.emplace_back(host);
            doors.push_back(std::make_unique<HttpServer>(options.http, handlers()));
        }
        for (const char* path : kHealthPaths) {
            lobby.add({.method = "GET",
                       .path = path,
                       .handle = [](const HttpRequest&) { return error_reply(loading()); },
                       .is_open = true});
        }
        if (options.has_page) add_page_endpoints(lobby, options.ui_dir);
    }

    void open(const Engine& engine) {
        loaded = std::make_unique<Loaded>(engine, options, metrics);
        ready.store(loaded.get());
    }

    [[nodiscard]] const Endpoints& endpoints() const {
        const Loaded* const now = ready.load();
        return now != nullptr ? now->endpoints : lobby;
    }

    HttpHandlers handlers() {
        HttpHandlers handlers;
        handlers.check = [this](const HttpRequest& head) { return check(head); };
        handlers.handle = [this](const HttpRequest& request) {
            return endpoints().find(request).endpoint->handle(request);
        };
        handlers.refuse = [this](const HttpRequest& head, int status) {
            return error_reply(refusal_of(status, head.id), endpoints().find(head).form, head.id);
        };
        handlers.common_headers = [this](const HttpRequest& head) { return common_headers(head); };
        handlers.on_reply = [this](const HttpRequest& head, const ReplyFacts& facts) {
            const Endpoint* endpoint = endpoints().find(head).endpoint;
            metrics.count_reply(endpoint != nullptr ? endpoint->path : "other", facts);
            log(options.log, LogLevel::Info, log_line(head, facts));
        };
        return handlers;
    }

    // One check for all routes, before a body is read.
    std::optional<HttpReply> check(const HttpRequest& head) const {
        const Endpoints::Match match = endpoints().find(head);
        const bool is_open = match.endpoint != nullptr && match.endpoint->is_open;
        if (const Check refusal = check_access(head, options.access, is_open)) {
            return error_reply(*refusal, match.form, head.id);
        }
        if (head.method == "OPTIONS") return preflight();
        if (match.endpoint != nullptr) return std::nullopt;
        if (ready.load() == nullptr) return error_reply(loading(), match.form, head.id);
        HttpReply reply =
            error_reply(refusal_of(match.allowed.empty() ? 404 : 405, head.id), match.form, head.id);
        std::string allowed;
        for (const std::string& method : match.allowed) allowed += (allowed.empty() ? "" : ", ") + method;
        if (!allowed.empty()) reply.headers.emplace_back("Allow", allowed);
        return reply;
    }

    [[nodiscard]] HeaderList common_headers(const HttpRequest& head) const {
        HeaderList headers = {{"X-Request-Id", head.id},
                              {"Server", "clasp-vlm/" CLASP_VERSION_STRING},
                              {"X-Content-Type-Options", "nosniff"}};
        const std::string* origin = head.header("Origin");
        if (origin != nullptr) headers.emplace_back("Vary", "Origin");
        // A page that may ask may read why it was refused; another one not even that there is a server.
        if (may_page_read(head, options.access)) {
            headers.emplace_back("Access-Control-Allow-Origin", *origin);
            headers.emplace_back("Access-Control-Expose-Headers",
                                 "X-Request-Id, X-Clasp-Tokens, X-Clasp-Class");
        }
        return headers;
    }

    const ServeOptions options;
    Metrics metrics;
    Endpoints lobby;  // while the model is loading
    std::unique_ptr<Loaded> loaded;
    std::atomic<Loaded*> ready{nullptr};
    std::vector<std::string> hosts;
    std::vector<std::unique_ptr<HttpServer>> doors;  // one for each of them
};

Server::Server(ServeOptions options) : state_(std::make_unique<State>(std::move(options))) {}

Server::Server(const Engine& engine, ServeOptions options) : Server(std::move(options)) {
    open(engine);
}

void Server::open(const Engine& engine) {
    state_->open(engine);
}

Server::~Server() {
    for (const auto& door : state_->doors) door->stop_listening();
    if (state_->loaded != nullptr) {
        state_->loaded->scheduler.drain();
        state_->loaded->scheduler.cancel_all();
    }
    for (const auto& door : state_->doors) door->join();
}

Status Server::start() {
    int port = state_->options.port;
    for (std::size_t i = 0; i < state_->doors.size(); ++i) {
        CLASP_RETURN_IF_ERROR(state_->doors[i]->start(state_->hosts[i], port));
        port = state_->doors[i]->port();  // the others have the one that the first found
    }
    return ok_status();
}

int Server::port() const {
    return state_->doors.front()->port();
}

std::string Server::url() const {
    const std::string& host = state_->hosts.front();
    const bool is_ipv6 = host.find(':') != std::string::npos;
    return "http://" + (is_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port());
}

bool Server::drain(std::chrono::milliseconds time) {
    Scheduler& scheduler = state_->loaded->scheduler;
    scheduler.drain();
    for (const auto& door : state_->doors) door->stop_listening();
    const bool is_idle = scheduler.wait_until_idle(time);
    if (!is_idle) scheduler.cancel_all();
    for (const auto& door : state_->doors) door->join();
    return is_idle;
}

SchedulerCounts Server::counts() const {
    return state_->loaded->scheduler.counts();
}

Status check_exposure(const std::string& host, bool has_keys, bool wants_no_keys) {
    const std::vector<std::string_view> hosts = base::split(host, ',');
    const bool is_loopback = std::all_of(hosts.begin(), hosts.end(), [](std::string_view one) {
        return one == "localhost" || one == "::1" || one.starts_with("127.");
    });
    if (is_loopback || has_keys || wants_no_keys) return ok_status();
    return {Code::InvalidArgument, "--host " + base::printable(host, 256) +
                                       " can be reached from other machines; give an --api-key, or --no-auth "
                                       "if everybody may use this server"};
}

}  // namespace clasp::serve
