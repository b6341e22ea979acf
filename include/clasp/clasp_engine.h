/* The engine from C: load a model from two GGUF files, ask about images, read the answer with all that is
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

typedef struct clasp_engine_options {
    const char* model;          /* text GGUF */
    const char* mmproj;         /* vision GGUF */
    const char* vision_weights; /* "auto", "file", "f16", "q8_0", ... */
    size_t n_threads;           /* 0: the processors that are free */
    int use_gpu;
    size_t cached_images;  /* whose vision layers stay in memory */
    const char* cache_dir; /* NULL, or a folder where they stay between runs */
    clasp_log_function log;
    void* log_user;
} clasp_engine_options;

clasp_engine_options clasp_engine_default_options(void);
clasp_code clasp_engine_load(const clasp_engine_options* options, clasp_engine** engine, clasp_error* error);
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
 * return. One for the whole process; NULL: ggml prints, starts a debugger and aborts. See clasp/fatal.h. */
typedef void (*clasp_fatal_function)(const char* message);
void clasp_set_fatal_handler(clasp_fatal_function function);

/* ---- Asking ---- */

typedef struct clasp_image {
    const char* path; /* NULL when bytes are given; both at once are refused */
    const void* bytes;
    size_t n_bytes;
} clasp_image;

/* Gets pieces of valid UTF-8, not terminated, on the calling thread. Return 0 to go on, anything else to
 * stop. */
typedef int (*clasp_text_function)(const char* text, size_t length, void* user);

typedef struct clasp_ask_options {
    const clasp_image* images;
    size_t n_images;
    const char* question;
    const clasp_policy* policy; /* NULL: the model's own, or the "llava" profile */
    const char* class_choice;   /* id or name; NULL: the router decides */
    const char* budget;         /* "192", "33%", "none" or "auto" */
    const char* schedule;       /* NULL, or "2:300,6:200,15:110", or "paper-192" and the like */
    const char* method;         /* NULL: the policy's */
    const char* mass;           /* NULL: the method's; "none" or "nearest" */
    int use_fusion;             /* 1: mix vision layers as the policy says; 0: read the original model's
                                   block only; below 0: what the method does */
    int vanilla;
    int llama_cpp_numbers; /* 1: as llama.cpp computes, for side-by-side tests */
    size_t max_tokens;
    double temperature;
    double top_p;
    uint32_t seed;
    clasp_text_function on_text; /* may be NULL */
    void* text_user;
    clasp_cancel* cancel; /* may be NULL */
} clasp_ask_options;

typedef struct clasp_answer clasp_answer;

/* Budget "33%", fusion as the method has it, at most 256 tokens, temperature 0. */
clasp_ask_options clasp_ask_default_options(void);
/* May be called from several threads on one engine. */
clasp_code clasp_engine_ask(const clasp_engine* engine, const clasp_ask_options* options,
                            clasp_answer** answer, clasp_error* error);
void clasp_answer_destroy(clasp_answer* answer);

/* ---- What came out ---- */

/* Milliseconds; see AskTimings in clasp/engine.h. */
typedef struct clasp_timings {
    double route, image, encode, fuse, project, gram, select, prefill, first_token, decode, total;
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
