#include "clasp/schedule.h"

#include <memory>
#include <vector>

#include "capi/support.h"

struct clasp_schedule {
    clasp::Schedule schedule;
    std::vector<clasp_stage> stages;
    std::size_t n_visual = 0;
};

using namespace clasp;  // NOLINT(google-build-using-namespace): only C functions follow

namespace {

Result<ScheduleRequest> read_options(const clasp_schedule_options& options) {
    ScheduleRequest request;
    request.n_visual = options.n_visual;
    request.n_layers = options.n_layers;
    request.stage_mode = options.prune_after != 0 ? StageMode::After : StageMode::Before;
    if (options.stage_layers != nullptr) {
        request.stage_layers.assign(options.stage_layers, options.stage_layers + options.n_stage_layers);
    }
    for (std::size_t i = 0; options.forced != nullptr && i < options.n_forced; ++i) {
        request.forced.push_back({options.forced[i].layer, options.forced[i].keep});
    }
    if (options.named != nullptr) request.named = options.named;
    if (request.forced.empty() && request.named.empty()) {
        if (options.budget == nullptr) return capi::null_argument("options->budget");
        CLASP_ASSIGN_OR_RETURN(request.budget, parse_budget(options.budget));
    }
    return request;
}

}  // namespace

clasp_schedule_options clasp_schedule_default_options(void) {
    clasp_schedule_options options = {};
    options.n_visual = 576;
    options.n_layers = 32;
    options.budget = "33%";
    return options;
}

clasp_code clasp_schedule_create(const clasp_schedule_options* options, clasp_schedule** schedule,
                                 clasp_error* error) {
    return capi::guarded(error, [&]() -> Status {
        if (schedule == nullptr) return capi::null_argument("schedule");
        *schedule = nullptr;
        if (options == nullptr) return capi::null_argument("options");
        CLASP_ASSIGN_OR_RETURN(const ScheduleRequest request, read_options(*options));
        auto handle = std::make_unique<clasp_schedule>();
        handle->n_visual = options->n_visual;
        CLASP_ASSIGN_OR_RETURN(handle->schedule, make_schedule(request));
        for (const Stage& stage : handle->schedule.stages)
            handle->stages.push_back({stage.layer, stage.keep});
        *schedule = handle.release();
        return ok_status();
    });
}

void clasp_schedule_destroy(clasp_schedule* schedule) {
    delete schedule;
}

const clasp_stage* clasp_schedule_stages(const clasp_schedule* schedule, size_t* n_stages) {
    if (n_stages != nullptr) *n_stages = schedule->stages.size();
    return schedule->stages.data();
}

const size_t* clasp_schedule_per_layer(const clasp_schedule* schedule, size_t* n_layers) {
    if (n_layers != nullptr) *n_layers = schedule->schedule.per_layer.size();
    return schedule->schedule.per_layer.data();
}

double clasp_schedule_average(const clasp_schedule* schedule) {
    return schedule->schedule.average;
}

const char* clasp_schedule_source(const clasp_schedule* schedule) {
    return source_name(schedule->schedule.source).data();
}

clasp_decoder_shape clasp_decoder_shape_default(void) {
    const DecoderShape shape = default_decoder_shape();
    return {shape.width, shape.ffn_width, shape.n_heads, shape.n_kv_heads, shape.head_width, shape.vocab};
}

clasp_code clasp_schedule_flops_ratio(const clasp_schedule* schedule, const clasp_decoder_shape* shape,
                                      size_t n_text, double* ratio, clasp_error* error) {
    return capi::guarded(error, [&]() -> Status {
        if (schedule == nullptr) return capi::null_argument("schedule");
        if (shape == nullptr) return capi::null_argument("shape");
        if (ratio == nullptr) return capi::null_argument("ratio");
        DecoderShape full = default_decoder_shape(schedule->schedule.per_layer.size());
        full.width = shape->width;
        full.ffn_width = shape->ffn_width;
        full.n_heads = shape->n_heads;
        full.n_kv_heads = shape->n_kv_heads;
        full.head_width = shape->head_width;
        full.vocab = shape->vocab;
        CLASP_ASSIGN_OR_RETURN(const ScheduleCost cost,
                               schedule_cost(schedule->schedule, full, schedule->n_visual, n_text, 0));
        *ratio = cost.flops_ratio;
        return ok_status();
    });
}
