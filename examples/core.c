/* The selection core from C: make a schedule, look up a class of a policy, and choose tokens of a toy
 * image stage by stage. Build it against the installed package (examples/CMakeLists.txt). */
#include <clasp/clasp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N_TOKENS = 576, WIDTH = 64, N_LAYERS = 32 };

static int failed(const char* what, const clasp_error* error) {
    fprintf(stderr, "%s: %s\n", what, error->message);
    return 1;
}

/* Stand-ins for what an engine has: projected visual tokens and the attention they receive. */
static void make_image(float* features, float* scores) {
    unsigned state = 1;
    for (int t = 0; t < N_TOKENS; ++t) {
        for (int i = 0; i < WIDTH; ++i) {
            state = state * 1664525u + 1013904223u;
            features[t * WIDTH + i] = (float)(state >> 8) / 16777216.0f - 0.5f;
        }
        scores[t] = 1.0f / (1.0f + fabsf((float)t - 300.0f));
    }
}

int main(void) {
    clasp_error error;

    clasp_policy* policy = NULL;
    if (clasp_policy_load("llava", &policy, &error)) return failed("policy", &error);
    const size_t class_id = 5; /* counting */
    size_t n_mixed = 0;
    const clasp_layer_weight* mix = clasp_policy_mix(policy, class_id, &n_mixed);
    printf("class %s, split %.1f, mix", clasp_policy_class_name(policy, class_id),
           clasp_policy_split(policy, class_id));
    for (size_t i = 0; i < n_mixed; ++i) printf(" L%zu:%.1f", mix[i].layer, mix[i].weight);
    printf("\n");

    clasp_schedule_options plan_for = clasp_schedule_default_options();
    plan_for.n_visual = N_TOKENS;
    plan_for.n_layers = N_LAYERS;
    plan_for.budget = "192";
    clasp_schedule* schedule = NULL;
    if (clasp_schedule_create(&plan_for, &schedule, &error)) return failed("schedule", &error);

    static float features[N_TOKENS * WIDTH];
    static float scores[N_TOKENS];
    static float gram[N_TOKENS * N_TOKENS];
    make_image(features, scores);

    clasp_selector* selector = NULL;
    if (clasp_selector_create(&selector, &error)) return failed("selector", &error);
    if (clasp_selector_gram(selector, features, N_TOKENS, WIDTH, WIDTH, NULL, gram, N_TOKENS, &error)) {
        return failed("gram", &error);
    }

    /* One Gram matrix serves all stages; each stage chooses among what the last one kept. */
    static uint32_t live[N_TOKENS];
    static float live_scores[N_TOKENS];
    size_t n_live = N_TOKENS;
    for (uint32_t t = 0; t < N_TOKENS; ++t) live[t] = t;
    size_t n_stages = 0;
    const clasp_stage* stages = clasp_schedule_stages(schedule, &n_stages);
    for (size_t s = 0; s < n_stages; ++s) {
        for (size_t i = 0; i < n_live; ++i) live_scores[i] = scores[live[i]];
        clasp_select_input input = {0};
        input.gram = gram;
        input.gram_stride = N_TOKENS;
        input.rows = N_TOKENS;
        input.live = live;
        input.n_live = n_live;
        input.scores = live_scores;
        input.n_scores = n_live;
        clasp_select_options options = clasp_select_default_options();
        options.budget = stages[s].keep;
        options.split = clasp_policy_split(policy, class_id);
        if (clasp_selector_run(selector, &input, &options, NULL, &error)) return failed("select", &error);
        size_t n_pivots = 0;
        clasp_selector_pivots(selector, &n_pivots);
        const uint32_t* kept = clasp_selector_kept(selector, &n_live);
        for (size_t i = 0; i < n_live; ++i) live[i] = kept[i];
        printf("layer %2zu keeps %zu tokens, %zu of them pivots\n", stages[s].layer, n_live, n_pivots);
    }

    clasp_selector_destroy(selector);
    clasp_schedule_destroy(schedule);
    clasp_policy_destroy(policy);
    return 0;
}
