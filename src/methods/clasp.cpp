// The paper's dual-stage selection, its variant with masses, and its relevance half alone.
#include "methods/methods.h"

namespace clasp::methods {

namespace {

Status choose_with_split(const StageInput& input, double split, SelectWorkspace& workspace, ThreadPool* pool,
                         SelectPlan& plan) {
    SelectInput request;
    request.gram = input.gram;
    request.live = input.live;
    request.scores = input.scores;
    SelectOptions options;
    options.budget = input.keep;
    options.split = split;
    options.iterations = input.iterations;
    options.seed = input.seed;
    return select(request, options, workspace, pool, plan);
}

Status choose_dual(const StageInput& input, SelectWorkspace& workspace, ThreadPool* pool, SelectPlan& plan) {
    return choose_with_split(input, input.split, workspace, pool, plan);
}

Status choose_by_attention(const StageInput& input, SelectWorkspace& workspace, ThreadPool* pool,
                           SelectPlan& plan) {
    return choose_with_split(input, 1.0, workspace, pool, plan);
}

}  // namespace

Method clasp_method() {
    return {.name = "clasp",
            .summary = "attention pivots, then spherical k-means coverage, as published",
            .choose = choose_dual};
}

Method clasp_plus_method() {
    return {.name = "clasp+",
            .summary = "clasp whose dropped tokens leave their mass to their nearest survivor",
            .uses_masses = true,
            .choose = choose_dual};
}

Method attention_method() {
    return {
        .name = "attention", .summary = "the highest attention scores alone", .choose = choose_by_attention};
}

}  // namespace clasp::methods
