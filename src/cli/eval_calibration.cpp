#include "cli/eval_calibration.h"

#include "base/text.h"
#include "calibrate/calibrate.h"
#include "cli/interrupt.h"
#include "cli/progress_line.h"

namespace clasp::cli {

namespace {

Result<std::vector<std::size_t>> read_sizes(const std::string& text) {
    std::vector<std::size_t> sizes;
    for (const std::string& part : split_list(text)) {
        const auto size = base::parse_size(part);
        if (!size || *size < 2) {
            return Status(Code::InvalidArgument,
                          "a calibration size is a number of questions per class of at least "
                          "2, not " +
                              base::in_quotes(part));
        }
        sizes.push_back(*size);
    }
    return sizes;
}

}  // namespace

Result<std::vector<eval::Variant>> calibration_variants(const Arguments& arguments, const eval::Variant& base,
                                                        const EvalEngine& model, Console& console) {
    const auto folder = arguments.text_if("calibration-data");
    if (!folder) {
        return Status(Code::InvalidArgument, "the ablation of calibration needs --calibration-data DIR");
    }
    CLASP_ASSIGN_OR_RETURN(const std::vector<std::size_t> sizes,
                           read_sizes(arguments.text("calibration-sizes")));
    calibrate::CalibrateRequest request;
    CLASP_ASSIGN_OR_RETURN(request.benchmark, eval::find_benchmark(arguments.text("benchmark")));
    CLASP_ASSIGN_OR_RETURN(const eval::Dataset dataset, request.benchmark->load(*folder, {}));
    request.dataset = &dataset;
    request.start = *base.policy;
    request.common = base;
    request.method = base.method;
    request.budget = base.budget;
    request.classes = base.classes;
    request.max_tokens = max_tokens(arguments, *request.benchmark);
    const ModelInfo& info = model.engine->info();
    request.space = calibrate::default_space(info.vision_blocks, info.feature_layer);
    request.cancel = &interrupted();
    ProgressLine line(console, "answers");
    request.on_progress = [&](std::size_t class_id, const eval::Progress& progress) {
        line.update(progress.done, progress.total, progress.rate(), progress.seconds_left(),
                    "calibrating " + request.start.classes[class_id].name);
    };
    const eval::Asker asker = [&model](const AskRequest& asking) { return model.engine->ask(asking); };
    std::vector<eval::Variant> variants = {eval::vanilla_variant(), base};
    variants[0].policy = base.policy;
    variants[0].detail = base.detail;
    variants[1].label = "not calibrated";
    for (const auto sampling : {calibrate::Sampling::Balanced, calibrate::Sampling::Random}) {
        for (const std::size_t size : sizes) {
            request.sampling.sampling = sampling;
            request.sampling.per_class = size;
            auto report = calibrate::calibrate(request, asker);
            line.finish();
            if (!report) return report.status();
            request.known = std::move(report->records);
            eval::Variant variant = base;
            const bool is_balanced = sampling == calibrate::Sampling::Balanced;
            const std::string way = is_balanced ? "balanced" : "random";
            variant.label = way + ", " + std::to_string(size) + " per class";
            report->policy.name = way + "-" + std::to_string(size);
            variant.policy = std::make_shared<Policy>(std::move(report->policy));
            variants.push_back(std::move(variant));
        }
    }
    return variants;
}

}  // namespace clasp::cli
