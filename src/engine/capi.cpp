#include <atomic>
#include <memory>
#include <string>

#include "capi/policy_handle.h"
#include "capi/support.h"
#include "clasp/clasp_engine.h"
#include "clasp/engine.h"
#include "clasp/fatal.h"

struct clasp_engine {
    std::unique_ptr<clasp::Engine> engine;
};

struct clasp_cancel {
    std::atomic<bool> flag{false};
};

struct clasp_answer {
    clasp::Answer answer;
};

using namespace clasp;  // NOLINT(google-build-using-namespace): only C functions follow

namespace {

std::string text_or_empty(const char* text) {
    return text != nullptr ? text : "";
}

Result<AskRequest> read_options(const clasp_ask_options& options) {
    AskRequest request;
    if (options.question == nullptr) return capi::null_argument("options->question");
    if (options.images == nullptr && options.n_images > 0) return capi::null_argument("options->images");
    for (std::size_t i = 0; i < options.n_images; ++i) {
        const clasp_image& image = options.images[i];
        if (image.path == nullptr && image.bytes == nullptr) {
            return Status(Code::InvalidArgument,
                          "options->images[" + std::to_string(i) + "] has neither path nor bytes");
        }
        ImageSource source;
        source.path = text_or_empty(image.path);
        if (image.bytes != nullptr) source.bytes = {static_cast<const char*>(image.bytes), image.n_bytes};
        request.images.push_back(source);
    }
    request.question = options.question;
    if (options.policy != nullptr) request.policy = options.policy->policy;
    request.class_choice = text_or_empty(options.class_choice);
    request.method = text_or_empty(options.method);
    if (options.budget != nullptr) {
        CLASP_ASSIGN_OR_RETURN(request.budget, parse_budget(options.budget));
    }
    const std::string schedule = text_or_empty(options.schedule);
    if (schedule.starts_with("paper-")) {
        request.schedule_name = schedule;
    } else if (!schedule.empty()) {
        CLASP_ASSIGN_OR_RETURN(request.forced_stages, parse_stages(schedule));
    }
    if (options.mass != nullptr) {
        CLASP_ASSIGN_OR_RETURN(request.mass, parse_mass(options.mass));
    }
    if (options.use_fusion >= 0) request.use_fusion = options.use_fusion != 0;
    request.vanilla = options.vanilla != 0;
    request.numbers = options.llama_cpp_numbers != 0 ? Numbers::LlamaCpp : Numbers::Original;
    request.generation.max_tokens = options.max_tokens;
    request.generation.temperature = options.temperature;
    request.generation.top_p = options.top_p;
    request.generation.seed = options.seed;
    return request;
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

clasp_engine_options clasp_engine_default_options(void) {
    const EngineOptions defaults;
    clasp_engine_options options = {};
    options.vision_weights = "auto";
    options.use_gpu = defaults.use_gpu ? 1 : 0;
    options.cached_images = defaults.cached_images;
    return options;
}

clasp_code clasp_engine_load(const clasp_engine_options* options, clasp_engine** engine, clasp_error* error) {
    return capi::guarded(error, [&]() -> Status {
        if (engine == nullptr) return capi::null_argument("engine");
        *engine = nullptr;
        if (options == nullptr) return capi::null_argument("options");
        if (options->model == nullptr) return capi::null_argument("options->model");
        if (options->mmproj == nullptr) return capi::null_argument("options->mmproj");
        EngineOptions wanted;
        wanted.model = options->model;
        wanted.mmproj = options->mmproj;
        if (options->vision_weights != nullptr) wanted.vision_weights = options->vision_weights;
        wanted.n_threads = options->n_threads;
        wanted.use_gpu = options->use_gpu != 0;
        wanted.cached_images = options->cached_images;
        wanted.cache_dir = text_or_empty(options->cache_dir);
        if (options->log != nullptr) {
            wanted.log = [log = options->log, user = options->log_user](LogLevel level,
                                                                        std::string_view message) {
                log(static_cast<clasp_log_level>(level), std::string(message).c_str(), user);
            };
        }
        auto handle = std::make_unique<clasp_engine>();
        CLASP_ASSIGN_OR_RETURN(handle->engine, Engine::load(wanted));
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

clasp_ask_options clasp_ask_default_options(void) {
    const AskRequest defaults;
    clasp_ask_options options = {};
    options.budget = "33%";
    options.use_fusion = -1;
    options.max_tokens = defaults.generation.max_tokens;
    options.temperature = defaults.generation.temperature;
    options.top_p = defaults.generation.top_p;
    options.seed = defaults.generation.seed;
    return options;
}

clasp_code clasp_engine_ask(const clasp_engine* engine, const clasp_ask_options* options,
                            clasp_answer** answer, clasp_error* error) {
    return capi::guarded(error, [&]() -> Status {
        if (answer == nullptr) return capi::null_argument("answer");
        *answer = nullptr;
        if (engine == nullptr) return capi::null_argument("engine");
        if (options == nullptr) return capi::null_argument("options");
        CLASP_ASSIGN_OR_RETURN(AskRequest request, read_options(*options));
        // Without a handle of the caller's, the text function alone can stop the request.
        std::atomic<bool> own_flag{false};
        std::atomic<bool>& flag = options->cancel != nullptr ? options->cancel->flag : own_flag;
        request.cancel = &flag;
        if (options->on_text != nullptr) {
            request.on_text = [&](std::string_view text) {
                if (options->on_text(text.data(), text.size(), options->text_user) != 0) flag.store(true);
            };
        }
        auto handle = std::make_unique<clasp_answer>();
        CLASP_ASSIGN_OR_RETURN(handle->answer, engine->engine->ask(request));
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
    return {t.route,  t.image,   t.encode,      t.fuse,   t.project, t.gram,
            t.select, t.prefill, t.first_token, t.decode, t.total};
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
