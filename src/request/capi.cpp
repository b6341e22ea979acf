#include <array>
#include <atomic>
#include <memory>
#include <string>

#include "capi/policy_handle.h"
#include "capi/support.h"
#include "clasp/clasp_engine.h"
#include "clasp/engine.h"
#include "clasp/fatal.h"
#include "clasp/route_llm.h"
#include "request/conflicts.h"
#include "request/model_files.h"
#include "request/option_table.h"
#include "request/router_files.h"

struct clasp_engine {
    std::unique_ptr<clasp::Engine> engine;
};

struct clasp_cancel {
    std::atomic<bool> flag{false};
};

struct clasp_setup {
    clasp::request::Settings settings = clasp::request::default_settings();
    clasp_log_function log = nullptr;
    void* log_user = nullptr;
};

struct clasp_request {
    clasp::request::Settings settings = clasp::request::default_settings();
    clasp_text_function on_text = nullptr;
    void* text_user = nullptr;
    clasp_cancel* cancel = nullptr;
};

struct clasp_answer {
    clasp::Answer answer;
};

using namespace clasp;  // NOLINT(google-build-using-namespace): only C functions follow

namespace {

using request::Caller;
using request::Scope;

constexpr std::array kSetupScopes = {Scope::Model, Scope::Router, Scope::Memory, Scope::Engine};
constexpr std::array kRequestScopes = {Scope::Asking, Scope::Generation, Scope::Time};

LogSink log_sink(const clasp_setup& setup) {
    if (setup.log == nullptr) return {};
    return [log = setup.log, user = setup.log_user](LogLevel level, std::string_view message) {
        log(static_cast<clasp_log_level>(level), std::string(message).c_str(), user);
    };
}

Result<EngineOptions> engine_options(const clasp_setup& setup) {
    const request::Settings& settings = setup.settings;
    CLASP_RETURN_IF_ERROR(request::check_conflicts(settings, Caller::C));
    CLASP_ASSIGN_OR_RETURN(const request::ModelFiles files, request::find_model_files(settings, Caller::C));
    EngineOptions options = settings.engine;
    options.model = files.model;
    options.mmproj = files.mmproj;
    options.log = log_sink(setup);
    CLASP_ASSIGN_OR_RETURN(options.router, request::read_router_files(settings.router));
    if (options.router.kind == RouterKind::Llm) {
        LlmRouterOptions chat;
        chat.model = settings.router.model;
        chat.timeout_ms = settings.router.timeout_ms;
        chat.n_threads = options.n_threads;
        chat.use_gpu = options.use_gpu;
        chat.log = options.log;
        CLASP_ASSIGN_OR_RETURN(options.router.chooser, load_llm_router(chat));
    }
    return options;
}

const std::vector<StageReport>& stages_of(const clasp_answer* answer) {
    return answer->answer.stages;
}

const uint32_t* stage_list(const clasp_answer* answer, size_t stage, size_t* count,
                           std::vector<TokenIndex> StageReport::*list) {
    const bool exists = stage < stages_of(answer).size();
    if (count != nullptr) *count = exists ? (stages_of(answer)[stage].*list).size() : 0;
    return exists ? (stages_of(answer)[stage].*list).data() : nullptr;
}

}  // namespace

clasp_code clasp_setup_create(clasp_setup** setup, clasp_error* error) {
    return capi::guarded(error, [&]() -> Status {
        if (setup == nullptr) return capi::null_argument("setup");
        *setup = new clasp_setup();
        return ok_status();
    });
}

void clasp_setup_destroy(clasp_setup* setup) {
    delete setup;
}

clasp_code clasp_setup_set(clasp_setup* setup, const char* name, const char* value, clasp_error* error) {
    return capi::guarded(error, [&]() -> Status {
        if (setup == nullptr) return capi::null_argument("setup");
        if (name == nullptr) return capi::null_argument("name");
        if (value == nullptr) return capi::null_argument("value");
        return request::set_option(setup->settings, kSetupScopes, name, value);
    });
}

void clasp_setup_log(clasp_setup* setup, clasp_log_function log, void* user) {
    setup->log = log;
    setup->log_user = user;
}

clasp_code clasp_engine_load(const clasp_setup* setup, clasp_engine** engine, clasp_error* error) {
    return capi::guarded(error, [&]() -> Status {
        if (engine == nullptr) return capi::null_argument("engine");
        *engine = nullptr;
        if (setup == nullptr) return capi::null_argument("setup");
        CLASP_ASSIGN_OR_RETURN(const EngineOptions options, engine_options(*setup));
        auto handle = std::make_unique<clasp_engine>();
        CLASP_ASSIGN_OR_RETURN(handle->engine, Engine::load(options));
        *engine = handle.release();
        return ok_status();
    });
}

void clasp_engine_destroy(clasp_engine* engine) {
    delete engine;
}

void clasp_set_fatal_handler(clasp_fatal_function function) {
    clasp::set_fatal_handler(function);
}

clasp_code clasp_cancel_create(clasp_cancel** cancel, clasp_error* error) {
    return capi::guarded(error, [&]() -> Status {
        if (cancel == nullptr) return capi::null_argument("cancel");
        *cancel = new clasp_cancel();
        return ok_status();
    });
}

void clasp_cancel_request(clasp_cancel* cancel) {
    cancel->flag.store(true);
}

void clasp_cancel_destroy(clasp_cancel* cancel) {
    delete cancel;
}

clasp_code clasp_request_create(const char* question, clasp_request** request, clasp_error* error) {
    return capi::guarded(error, [&]() -> Status {
        if (request == nullptr) return capi::null_argument("request");
        *request = nullptr;
        if (question == nullptr) return capi::null_argument("question");
        auto handle = std::make_unique<clasp_request>();
        handle->settings.request.question = question;
        *request = handle.release();
        return ok_status();
    });
}

void clasp_request_destroy(clasp_request* request) {
    delete request;
}

clasp_code clasp_request_add_file(clasp_request* request, const char* path, clasp_error* error) {
    return capi::guarded(error, [&]() -> Status {
        if (request == nullptr) return capi::null_argument("request");
        if (path == nullptr) return capi::null_argument("path");
        request->settings.request.images.push_back({path, {}});
        return ok_status();
    });
}

clasp_code clasp_request_add_bytes(clasp_request* request, const void* bytes, size_t n_bytes,
                                   clasp_error* error) {
    return capi::guarded(error, [&]() -> Status {
        if (request == nullptr) return capi::null_argument("request");
        if (bytes == nullptr) return capi::null_argument("bytes");
        request->settings.request.images.push_back({{}, {static_cast<const char*>(bytes), n_bytes}});
        return ok_status();
    });
}

clasp_code clasp_request_set(clasp_request* request, const char* name, const char* value,
                             clasp_error* error) {
    return capi::guarded(error, [&]() -> Status {
        if (request == nullptr) return capi::null_argument("request");
        if (name == nullptr) return capi::null_argument("name");
        if (value == nullptr) return capi::null_argument("value");
        return request::set_option(request->settings, kRequestScopes, name, value);
    });
}

clasp_code clasp_request_set_policy(clasp_request* request, const clasp_policy* policy, clasp_error* error) {
    return capi::guarded(error, [&]() -> Status {
        if (request == nullptr) return capi::null_argument("request");
        if (policy == nullptr) return capi::null_argument("policy");
        request->settings.request.policy = policy->policy;
        return ok_status();
    });
}

void clasp_request_on_text(clasp_request* request, clasp_text_function on_text, void* user) {
    request->on_text = on_text;
    request->text_user = user;
}

void clasp_request_cancel_with(clasp_request* request, clasp_cancel* cancel) {
    request->cancel = cancel;
}

clasp_code clasp_engine_ask(const clasp_engine* engine, const clasp_request* request, clasp_answer** answer,
                            clasp_error* error) {
    return capi::guarded(error, [&]() -> Status {
        if (answer == nullptr) return capi::null_argument("answer");
        *answer = nullptr;
        if (engine == nullptr) return capi::null_argument("engine");
        if (request == nullptr) return capi::null_argument("request");
        CLASP_RETURN_IF_ERROR(request::check_conflicts(request->settings, Caller::C));
        AskRequest asking = request->settings.request;
        // Without a handle of the caller's, the text function alone can stop the request.
        std::atomic<bool> own_flag{false};
        std::atomic<bool>& flag = request->cancel != nullptr ? request->cancel->flag : own_flag;
        asking.cancel = &flag;
        if (request->on_text != nullptr) {
            asking.on_text = [&](std::string_view text) {
                if (request->on_text(text.data(), text.size(), request->text_user) != 0) flag.store(true);
            };
        }
        auto handle = std::make_unique<clasp_answer>();
        CLASP_ASSIGN_OR_RETURN(handle->answer, engine->engine->ask(asking));
        *answer = handle.release();
        return ok_status();
    });
}

void clasp_answer_destroy(clasp_answer* answer) {
    delete answer;
}

const char* clasp_answer_text(const clasp_answer* answer) {
    return answer->answer.text.c_str();
}

size_t clasp_answer_class(const clasp_answer* answer) {
    return answer->answer.chosen_class.id;
}

const char* clasp_answer_class_name(const clasp_answer* answer) {
    return answer->answer.chosen_class.name.c_str();
}

const char* clasp_answer_class_by(const clasp_answer* answer) {
    return answer->answer.chosen_class.by.c_str();
}

clasp_token_counts clasp_answer_tokens(const clasp_answer* answer) {
    const TokenCounts& tokens = answer->answer.tokens;
    return {tokens.visual, tokens.text, tokens.entering, tokens.final, tokens.average};
}

clasp_timings clasp_answer_timings(const clasp_answer* answer) {
    const AskTimings& t = answer->answer.timings;
    return {.route_ms = t.route_ms,
            .image_ms = t.image_ms,
            .encode_ms = t.encode_ms,
            .fuse_ms = t.fuse_ms,
            .project_ms = t.project_ms,
            .gram_ms = t.gram_ms,
            .select_ms = t.select_ms,
            .prefill_ms = t.prefill_ms,
            .first_token_ms = t.first_token_ms,
            .decode_ms = t.decode_ms,
            .total_ms = t.total_ms};
}

const char* clasp_answer_label(const clasp_answer* answer) {
    return answer->answer.label.c_str();
}

size_t clasp_answer_generated(const clasp_answer* answer) {
    return answer->answer.generated;
}

size_t clasp_answer_kv_bytes(const clasp_answer* answer) {
    return answer->answer.kv_bytes;
}

const char* clasp_answer_stopped(const clasp_answer* answer) {
    return stopped_name(answer->answer.stopped).data();  // of a literal, which ends with a 0
}

int clasp_answer_was_cancelled(const clasp_answer* answer) {
    return answer->answer.stopped == Stopped::Cancelled ? 1 : 0;
}

size_t clasp_answer_stage_count(const clasp_answer* answer) {
    return stages_of(answer).size();
}

size_t clasp_answer_stage_layer(const clasp_answer* answer, size_t stage) {
    return stage < stages_of(answer).size() ? stages_of(answer)[stage].layer : 0;
}

int clasp_answer_stage_is_after(const clasp_answer* answer, size_t stage) {
    return stage < stages_of(answer).size() && stages_of(answer)[stage].when == StageMode::After ? 1 : 0;
}

const uint32_t* clasp_answer_stage_kept(const clasp_answer* answer, size_t stage, size_t* count) {
    return stage_list(answer, stage, count, &StageReport::kept);
}

const uint32_t* clasp_answer_stage_pivots(const clasp_answer* answer, size_t stage, size_t* count) {
    return stage_list(answer, stage, count, &StageReport::pivots);
}

const uint32_t* clasp_answer_stage_coverage(const clasp_answer* answer, size_t stage, size_t* count) {
    return stage_list(answer, stage, count, &StageReport::coverage);
}
