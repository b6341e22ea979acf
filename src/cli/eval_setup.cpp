#include "cli/eval_setup.h"

#include <algorithm>

#include "base/sha256.h"
#include "base/text.h"
#include "cli/ask_options.h"
#include "cli/interrupt.h"
#include "cli/progress_line.h"
#include "cli/request_rows.h"
#include "engine/file_identity.h"

namespace clasp::cli {

Option class_source_option() {
    return {.name = "classes",
            .type = OptionType::Choice,
            .value = "BY",
            .fallback = "classifier",
            .help = "who tells the class of a question: the router, its rules alone, the benchmark's labels",
            .choices = {"classifier", "rules", "truth"}};
}

Option max_tokens_option() {
    Option option = option_with_help("max-tokens", "longest answer (default: the benchmark's)");
    option.fallback = {};
    return option;
}

std::size_t max_tokens(const Arguments& arguments, const eval::Benchmark& benchmark) {
    return arguments.is_given("max-tokens") ? static_cast<std::size_t>(arguments.integer("max-tokens"))
                                            : benchmark.max_new_tokens;
}

std::vector<std::string> split_list(const std::string& text) {
    std::vector<std::string> parts;
    for (const std::string_view part : base::split(text, ',')) parts.emplace_back(part);
    return parts;
}

Result<EvalData> load_eval_data(const std::string& benchmark, const Arguments& arguments) {
    EvalData data;
    CLASP_ASSIGN_OR_RETURN(data.benchmark, eval::find_benchmark(benchmark));
    eval::LoadOptions options;
    options.split = arguments.text_if("split").value_or("");
    CLASP_ASSIGN_OR_RETURN(data.dataset, data.benchmark->load(arguments.text("data"), options));
    if (data.dataset.items.empty()) {
        return Status(Code::NotFound, "no questions in " + base::path_in_quotes(arguments.text("data")));
    }
    data.hash = eval::dataset_hash(data.dataset);
    eval::cut_dataset(data.dataset, static_cast<std::size_t>(arguments.integer("limit")),
                      !data.benchmark->is_mean);
    return data;
}

Result<EvalEngine> load_eval_engine(const Arguments& arguments, const EvalData& data, Console& console) {
    EvalEngine loaded;
    const auto first = std::find_if(data.dataset.items.begin(), data.dataset.items.end(),
                                    [](const eval::Item& item) { return !item.image.empty(); });
    if (first != data.dataset.items.end()) loaded.shown.push_back({.path = first->image});
    CLASP_ASSIGN_OR_RETURN(const request::ModelFiles files, read_vision_model(arguments, loaded.shown));
    loaded.name = files.name;
    ThreadPool pool;
    CLASP_ASSIGN_OR_RETURN(const std::string text, engine::file_identity(files.model, &pool));
    CLASP_ASSIGN_OR_RETURN(const std::string vision, engine::file_identity(files.mmproj, &pool));
    loaded.hash = base::sha256_hex(text + vision);
    request::Settings settings;
    CLASP_RETURN_IF_ERROR(read_rows(arguments, {request::Scope::Engine}, settings));
    EngineOptions options = read_engine_options(settings, files);
    options.cached_images = 1;
    options.several_methods = true;
    options.log = console.log_sink();
    CLASP_ASSIGN_OR_RETURN(loaded.engine, Engine::load(options));
    return loaded;
}

Result<eval::RunReport> run_with_progress(eval::RunRequest request, const eval::Asker& asker,
                                          eval::RecordTable known, Console& console) {
    ProgressLine line(console, "answers");
    request.cancel = &interrupted();
    request.on_progress = [&line](const eval::Progress& progress) {
        const std::string more =
            progress.unreadable > 0 ? std::to_string(progress.unreadable) + " pictures missing" : "";
        line.update(progress.done, progress.total, progress.rate(), progress.seconds_left(), more);
    };
    auto report = eval::run(request, asker, std::move(known));
    line.finish();
    return report;
}

}  // namespace clasp::cli
