/* The selection core from C: schedules, policies, layer fusion and token selection. Plain C99 and
 * later; no third-party code behind it.
 *
 * Rules. Functions that can fail return a clasp_code, 0 on success, and fill *error if it is not
 * NULL. Handles are made by *_create or *_load and freed by *_destroy (NULL is fine). Strings and
 * arrays got from a handle live as long as the handle does, or until the call that is said to change
 * them. Different handles may be used from different threads at the same time; one handle may not,
 * except that a clasp_pool serves several callers in turn. No exception leaves the library, and it
 * neither prints nor exits. */
#ifndef CLASP_CLASP_H
#define CLASP_CLASP_H

#include <stddef.h>
#include <stdint.h>

#include "clasp/version.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Errors ---- */

typedef enum clasp_code {
    CLASP_OK = 0,
    CLASP_INVALID_ARGUMENT = 1,
    CLASP_NOT_FOUND = 2,
    CLASP_UNSUPPORTED = 3,
    CLASP_CORRUPT = 4,
    CLASP_TOO_LARGE = 5,
    CLASP_OUT_OF_MEMORY = 6,
    CLASP_CANCELLED = 7,
    CLASP_DEADLINE = 8,
    CLASP_UNAVAILABLE = 9,
    CLASP_INTERNAL = 10
} clasp_code;

/* Owned by the caller. A message longer than the field ends in "...". */
typedef struct clasp_error {
    clasp_code code;
    char message[504];
} clasp_error;

const char* clasp_code_name(clasp_code code);
const char* clasp_version(void);

/* ---- Threads ---- */

typedef struct clasp_pool clasp_pool;

/* n_threads counts the calling thread; 0 means one per processor that this process may use. */
clasp_code clasp_pool_create(size_t n_threads, clasp_pool** pool, clasp_error* error);
void clasp_pool_destroy(clasp_pool* pool);

/* ---- Schedules: from a budget to visual tokens per decoder layer ---- */

typedef struct clasp_stage {
    size_t layer; /* decoder layer, from 0 */
    size_t keep;  /* visual tokens from there on */
} clasp_stage;

typedef struct clasp_schedule_options {
    size_t n_visual;            /* visual tokens that enter the decoder */
    size_t n_layers;            /* decoder layers */
    const char* budget;         /* "192", "33%" or "none"; average visual tokens per layer */
    const char* named;          /* NULL, or "paper-192", "paper-128", "paper-64" instead of a budget */
    const size_t* stage_layers; /* NULL for the default layers */
    size_t n_stage_layers;
    const clasp_stage* forced; /* NULL, or exactly these stages instead of a budget */
    size_t n_forced;
    int prune_after; /* 0: a stage's own layer runs on the kept tokens; 1: on all live ones */
} clasp_schedule_options;

typedef struct clasp_schedule clasp_schedule;

/* n_visual 576, n_layers 32, budget "33%", default layers. */
clasp_schedule_options clasp_schedule_default_options(void);
clasp_code clasp_schedule_create(const clasp_schedule_options* options, clasp_schedule** schedule,
                                 clasp_error* error);
void clasp_schedule_destroy(clasp_schedule* schedule);

const clasp_stage* clasp_schedule_stages(const clasp_schedule* schedule, size_t* n_stages);
const size_t* clasp_schedule_per_layer(const clasp_schedule* schedule, size_t* n_layers);
double clasp_schedule_average(const clasp_schedule* schedule);
const char* clasp_schedule_source(const clasp_schedule* schedule); /* "published", "solved", ... */

typedef struct clasp_decoder_shape {
    size_t width;
    size_t ffn_width;
    size_t n_heads;
    size_t n_kv_heads;
    size_t head_width;
    size_t vocab;
} clasp_decoder_shape;

/* The 7-billion decoder of the paper's schedules. */
clasp_decoder_shape clasp_decoder_shape_default(void);
/* Prefill cost with the schedule over that without, in floating-point operations. */
clasp_code clasp_schedule_flops_ratio(const clasp_schedule* schedule, const clasp_decoder_shape* shape,
                                      size_t n_text, double* ratio, clasp_error* error);

/* ---- Policies: per question class, a mix of vision layers and a split of the budget ---- */

typedef struct clasp_policy clasp_policy;

typedef struct clasp_layer_weight {
    size_t layer; /* vision block, from 0 */
    double weight;
} clasp_layer_weight;

/* A profile name ("llava", "qwen2.5-vl", ...) or the path of a policy file. */
clasp_code clasp_policy_load(const char* name_or_path, clasp_policy** policy, clasp_error* error);
clasp_code clasp_policy_parse(const char* json, size_t length, clasp_policy** policy, clasp_error* error);
void clasp_policy_destroy(clasp_policy* policy);

const char* clasp_policy_name(const clasp_policy* policy);
const char* clasp_policy_hash(const clasp_policy* policy); /* 64 hexadecimal digits */
size_t clasp_policy_class_count(const clasp_policy* policy);
size_t clasp_policy_default_class(const clasp_policy* policy);
/* NULL for a class that does not exist. */
const char* clasp_policy_class_name(const clasp_policy* policy, size_t class_id);
/* Negative for a class that does not exist. */
double clasp_policy_split(const clasp_policy* policy, size_t class_id);
/* Rising layers, weights above 0 that sum to 1. NULL for a class that does not exist. */
const clasp_layer_weight* clasp_policy_mix(const clasp_policy* policy, size_t class_id, size_t* n_layers);

/* ---- Fusion: a weighted sum of vision layers ---- */

typedef enum clasp_float_type { CLASP_F32 = 0, CLASP_F16 = 1, CLASP_BF16 = 2 } clasp_float_type;

typedef struct clasp_layer_view {
    const void* data; /* n_tokens rows of width values, rows stride values apart (0: width) */
    clasp_float_type type;
    size_t n_tokens;
    size_t width;
    size_t stride;
    size_t grid_height; /* both 0 unless grids are unequal; else height * width == n_tokens */
    size_t grid_width;
} clasp_layer_view;

typedef enum clasp_upsample { CLASP_BILINEAR = 0, CLASP_NEAREST = 1 } clasp_upsample;

/* out: n_tokens * width floats of the last layer's grid. Layers whose grid differs from the last one's
 * are aligned to it first. pool may be NULL. */
clasp_code clasp_fuse(const clasp_layer_view* layers, const float* weights, size_t n_layers,
                      clasp_upsample upsample, float* out, size_t out_size, clasp_pool* pool,
                      clasp_error* error);

/* ---- Selection: which visual tokens stay ---- */

typedef struct clasp_select_options {
    size_t budget;       /* tokens to keep, at least 1 */
    double split;        /* share of the budget that goes to pivots, 0 to 1 */
    uint32_t iterations; /* of k-means, at most */
    uint64_t seed;       /* 0 is deterministic seeding by lowest redundancy */
} clasp_select_options;

/* Exactly one of gram and features is set; all is borrowed for the call. */
typedef struct clasp_select_input {
    const float* gram; /* rows x rows cosine similarities */
    size_t gram_stride;
    const float* features; /* rows x width */
    size_t width;
    size_t feature_stride;
    size_t rows;          /* all visual tokens */
    const uint32_t* live; /* NULL for all, else rising indices of the tokens still there */
    size_t n_live;
    const float* scores; /* relevance, one per live token */
    size_t n_scores;
} clasp_select_input;

/* The scratch memory and the last plan. One per thread. */
typedef struct clasp_selector clasp_selector;

/* Budget 0 (to be set), split 0.5, 5 iterations, seed 0. */
clasp_select_options clasp_select_default_options(void);
clasp_code clasp_selector_create(clasp_selector** selector, clasp_error* error);
void clasp_selector_destroy(clasp_selector* selector);

/* After the first call of a size nothing is allocated. pool may be NULL; the result does not depend on
 * it. Arrays of the plan are replaced by the next call; after an error there is no plan. */
clasp_code clasp_selector_run(clasp_selector* selector, const clasp_select_input* input,
                              const clasp_select_options* options, clasp_pool* pool, clasp_error* error);

/* Indices into all visual tokens, rising. */
const uint32_t* clasp_selector_kept(const clasp_selector* selector, size_t* count);
const uint32_t* clasp_selector_pivots(const clasp_selector* selector, size_t* count);
const uint32_t* clasp_selector_coverage(const clasp_selector* selector, size_t* count);
/* The clustering objective after each iteration. */
const double* clasp_selector_objective(const clasp_selector* selector, size_t* count);

/* Cosine similarities of all rows: out is rows x rows, out_stride floats apart. */
clasp_code clasp_selector_gram(clasp_selector* selector, const float* features, size_t rows, size_t width,
                               size_t stride, clasp_pool* pool, float* out, size_t out_stride,
                               clasp_error* error);

/* Every live token that is not in the last plan gives its mass to the kept token most similar to it.
 * gram as in the input, live the same, masses one per row. */
clasp_code clasp_selector_assign_masses(const clasp_selector* selector, const float* gram, size_t rows,
                                        size_t gram_stride, const uint32_t* live, size_t n_live,
                                        float* masses, clasp_error* error);

#ifdef __cplusplus
}
#endif

#endif /* CLASP_CLASP_H */
