/* The engine from C: load a model from its GGUF files, ask about images, read the answer with all that is
 * known about it. The rules of clasp.h hold here too. */
#ifndef CLASP_CLASP_ENGINE_H
#define CLASP_CLASP_ENGINE_H

#include "clasp/clasp.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Loading ---- */

typedef struct clasp_engine clasp_engine;

typedef enum clasp_log_level {
    CLASP_LOG_DEBUG = 0,
    CLASP_LOG_INFO = 1,
    CLASP_LOG_WARNING = 2,
    CLASP_LOG_ERROR = 3
} clasp_log_level;

/* May be called from any thread that runs library code. */
typedef void (*clasp_log_function)(clasp_log_level level, const char* message, void* user);

/* What to load and how: options by name. */
typedef struct clasp_setup clasp_setup;

clasp_code clasp_setup_create(clasp_setup** setup, clasp_error* error);
void clasp_setup_destroy(clasp_setup* setup);
/* Names and values are those of the command line with _ for -: "model" (the name of a model that comes with
 * the program, or a text GGUF), "mmproj" (a vision GGUF; none: text alone), "threads", "vision_weights",
 * "kernels", "gpu" ("true" or "false"), "cache" (a folder), "cache_size" (MiB), "packed", "cached_images",
 * "router", "router_model", "taxonomy", "classifier". The last value counts. */
clasp_code clasp_setup_set(clasp_setup* setup, const char* name, const char* value, clasp_error* error);
void clasp_setup_log(clasp_setup* setup, clasp_log_function log, void* user);

/* The setup is not needed any more afterwards. */
clasp_code clasp_engine_load(const clasp_setup* setup, clasp_engine** engine, clasp_error* error);
/* No request may be under way. */
void clasp_engine_destroy(clasp_engine* engine);

/* ---- Stopping ---- */

typedef struct clasp_cancel clasp_cancel;

clasp_code clasp_cancel_create(clasp_cancel** cancel, clasp_error* error);
/* From any thread; requests that were given this handle stop soon. */
void clasp_cancel_request(clasp_cancel* cancel);
/* No request that uses it may be under way. */
void clasp_cancel_destroy(clasp_cancel* cancel);

/* ---- Errors that no call returns ---- */

/* Gets the reason when ggml, on which the engine runs, gives up in the middle of its work; it must not
 * return. One for the whole process; NULL: a line on standard error, then abort(). See clasp/fatal.h. */
typedef void (*clasp_fatal_function)(const char* message);
void clasp_set_fatal_handler(clasp_fatal_function function);

/* ---- Asking ---- */

/* Gets pieces of valid UTF-8, not terminated, on the calling thread. Return 0 to go on, anything else to
 * stop. */
typedef int (*clasp_text_function)(const char* text, size_t length, void* user);

/* A question with its images and options. Not thread safe; it may be asked several times. */
typedef struct clasp_request clasp_request;

clasp_code clasp_request_create(const char* question, clasp_request** request, clasp_error* error);
void clasp_request_destroy(clasp_request* request);
/* Images stand in front of the question, in the order in which they are added; none: a question in text
 * alone. Encoded bytes are borrowed as long as the request is asked. */
clasp_code clasp_request_add_file(clasp_request* request, const char* path, clasp_error* error);
clasp_code clasp_request_add_bytes(clasp_request* request, const void* bytes, size_t n_bytes,
                                   clasp_error* error);
/* Names and values are those of "clasp-vlm ask" with _ for -: "budget" ("192", "33%", "none", "auto"),
 * "schedule", "method", "method_options" ("name=value", once for each), "class", "policy" (a name or a file),
 * "fusion" ("true", "false"; unset: what the method does), "vanilla", "mass", "compat", "max_tokens",
 * "temperature", "top_p", "seed", ... What is not set has the default of the command line. The last value
 * counts. */
clasp_code clasp_request_set(clasp_request* request, const char* name, const char* value, clasp_error* error);
/* A policy that was loaded; it is copied. Unlike the option "policy" it does not change what is mixed. */
clasp_code clasp_request_set_policy(clasp_request* request, const clasp_policy* policy, clasp_error* error);
/* Either may be NULL. */
void clasp_request_on_text(clasp_request* request, clasp_text_function on_text, void* user);
void clasp_request_cancel_with(clasp_request* request, clasp_cancel* cancel);

typedef struct clasp_answer clasp_answer;

/* May be called from several threads on one engine. */
clasp_code clasp_engine_ask(const clasp_engine* engine, const clasp_request* request, clasp_answer** answer,
                            clasp_error* error);
void clasp_answer_destroy(clasp_answer* answer);

/* ---- What came out ---- */

/* As AskTimings in clasp/engine.h has them. */
typedef struct clasp_timings {
    double route_ms, image_ms, encode_ms, fuse_ms, project_ms, gram_ms, select_ms, prefill_ms;
    double first_token_ms, decode_ms, total_ms;
} clasp_timings;

typedef struct clasp_token_counts {
    size_t visual, text, entering, final_count;
    double average;
} clasp_token_counts;

const char* clasp_answer_text(const clasp_answer* answer);
size_t clasp_answer_class(const clasp_answer* answer);
const char* clasp_answer_class_name(const clasp_answer* answer);
const char* clasp_answer_class_by(const clasp_answer* answer); /* "rules", "classifier", "forced", ... */
clasp_token_counts clasp_answer_tokens(const clasp_answer* answer);
clasp_timings clasp_answer_timings(const clasp_answer* answer);
/* What ran, with options and masses: "clasp+", "fastv + masses"; "none" when nothing was pruned. */
const char* clasp_answer_label(const clasp_answer* answer);
size_t clasp_answer_generated(const clasp_answer* answer);
size_t clasp_answer_kv_bytes(const clasp_answer* answer);
/* Why it ended: "end", "stop_text", "max_tokens", "cancelled", "deadline" (max_seconds). */
const char* clasp_answer_stopped(const clasp_answer* answer);
int clasp_answer_was_cancelled(const clasp_answer* answer);

/* What each stage kept: indices count the visual tokens of all images in order. NULL beyond the last
 * stage. */
size_t clasp_answer_stage_count(const clasp_answer* answer);
size_t clasp_answer_stage_layer(const clasp_answer* answer, size_t stage);
/* 1: that layer still ran on all tokens and what it gave was pruned. 0: it ran on the kept ones. */
int clasp_answer_stage_is_after(const clasp_answer* answer, size_t stage);
const uint32_t* clasp_answer_stage_kept(const clasp_answer* answer, size_t stage, size_t* count);
const uint32_t* clasp_answer_stage_pivots(const clasp_answer* answer, size_t stage, size_t* count);
const uint32_t* clasp_answer_stage_coverage(const clasp_answer* answer, size_t stage, size_t* count);

#ifdef __cplusplus
}
#endif

#endif /* CLASP_CLASP_ENGINE_H */
