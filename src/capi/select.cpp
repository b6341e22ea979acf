#include "clasp/select.h"

#include <span>

#include "capi/support.h"

struct clasp_selector {
    clasp::SelectWorkspace workspace;
    clasp::SelectPlan plan;
};

using namespace clasp;  // NOLINT(google-build-using-namespace): only C functions follow

namespace {

template <typename T>
const T* array_of(const std::vector<T>& values, size_t* count) {
    if (count != nullptr) *count = values.size();
    return values.data();
}

void clear(SelectPlan& plan) {
    plan.kept.clear();
    plan.reasons.clear();
    plan.pivots.clear();
    plan.coverage.clear();
    plan.seeds.clear();
    plan.objective.clear();
    plan.iterations = 0;
}

Result<SelectInput> read_input(const clasp_select_input& input) {
    SelectInput result;
    if (input.gram != nullptr) result.gram = {input.gram, input.rows, input.gram_stride};
    if (input.features != nullptr) {
        result.features = {input.features, input.rows, input.width, input.feature_stride};
    }
    if (input.live != nullptr) result.live = {input.live, input.n_live};
    if (input.live != nullptr && input.n_live == 0)
        return Status(Code::InvalidArgument, "input->n_live is 0");
    if (input.scores == nullptr) return capi::null_argument("input->scores");
    result.scores = {input.scores, input.n_scores};
    return result;
}

}  // namespace

clasp_select_options clasp_select_default_options(void) {
    const SelectOptions options;
    return {options.budget, options.split, options.iterations, options.seed};
}

clasp_code clasp_selector_create(clasp_selector** selector, clasp_error* error) {
    return capi::guarded(error, [&]() -> Status {
        if (selector == nullptr) return capi::null_argument("selector");
        *selector = nullptr;
        *selector = new clasp_selector();
        return ok_status();
    });
}

void clasp_selector_destroy(clasp_selector* selector) {
    delete selector;
}

clasp_code clasp_selector_run(clasp_selector* selector, const clasp_select_input* input,
                              const clasp_select_options* options, clasp_pool* pool, clasp_error* error) {
    const clasp_code code = capi::guarded(error, [&]() -> Status {
        if (selector == nullptr) return capi::null_argument("selector");
        if (input == nullptr) return capi::null_argument("input");
        if (options == nullptr) return capi::null_argument("options");
        CLASP_ASSIGN_OR_RETURN(const SelectInput request, read_input(*input));
        const SelectOptions choice{options->budget, options->split, options->iterations, options->seed};
        return select(request, choice, selector->workspace, capi::threads_of(pool), selector->plan);
    });
    if (code != CLASP_OK && selector != nullptr) clear(selector->plan);
    return code;
}

const uint32_t* clasp_selector_kept(const clasp_selector* selector, size_t* count) {
    return array_of(selector->plan.kept, count);
}

const uint32_t* clasp_selector_pivots(const clasp_selector* selector, size_t* count) {
    return array_of(selector->plan.pivots, count);
}

const uint32_t* clasp_selector_coverage(const clasp_selector* selector, size_t* count) {
    return array_of(selector->plan.coverage, count);
}

const double* clasp_selector_objective(const clasp_selector* selector, size_t* count) {
    return array_of(selector->plan.objective, count);
}

clasp_code clasp_selector_gram(clasp_selector* selector, const float* features, size_t rows, size_t width,
                               size_t stride, clasp_pool* pool, float* out, size_t out_stride,
                               clasp_error* error) {
    return capi::guarded(error, [&]() -> Status {
        if (selector == nullptr) return capi::null_argument("selector");
        return gram({features, rows, width, stride}, selector->workspace, capi::threads_of(pool), out,
                    out_stride);
    });
}

clasp_code clasp_selector_assign_masses(const clasp_selector* selector, const float* gram, size_t rows,
                                        size_t gram_stride, const uint32_t* live, size_t n_live,
                                        float* masses, clasp_error* error) {
    return capi::guarded(error, [&]() -> Status {
        if (selector == nullptr) return capi::null_argument("selector");
        if (gram == nullptr) return capi::null_argument("gram");
        if (masses == nullptr) return capi::null_argument("masses");
        const std::span<const TokenIndex> live_span =
            live != nullptr ? std::span<const TokenIndex>(live, n_live) : std::span<const TokenIndex>();
        return assign_masses({gram, rows, gram_stride}, live_span, selector->plan.kept, {masses, rows});
    });
}
