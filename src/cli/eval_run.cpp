#include "cli/eval_run.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "cli/ask_options.h"
#include "cli/eval_calibration.h"
#include "cli/eval_files.h"
#include "cli/eval_options.h"
#include "cli/eval_setup.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/request_rows.h"
#include "eval/ablation.h"
#include "methods/method.h"

namespace clasp::cli {

namespace {

namespace fs = std::filesystem;
using eval::RunDescription;
using eval::Variant;

const std::vector<std::string>& words_of(const Arguments& arguments) {
    return arguments.positional("BENCHMARK");
}

// What the variants have in common.
Result<Variant> base_variant(const Arguments& arguments, const std::vector<ImageSource>& shown = {}) {
    Variant base;
    CLASP_ASSIGN_OR_RETURN(Policy policy, read_policy_option(arguments, shown));
    base.policy = std::make_shared<Policy>(std::move(policy));
    if (const auto mass = arguments.text_if("mass"); mass && *mass != kBothMasses) {
        CLASP_ASSIGN_OR_RETURN(base.mass, parse_mass(*mass));
    }
    request::Settings settings;
    for (const Option& option : request::options_about(request::About::Detail)) {
        CLASP_RETURN_IF_ERROR(read_row(arguments, option.name, settings));
    }
    base.detail = settings.request.detail;
    base.budget_kind = arguments.text("budget-kind");
    base.position_mode = arguments.text("position-mode");
    base.use_fusion = !arguments.flag("no-fusion");
    base.select_seed = static_cast<std::uint64_t>(arguments.integer("select-seed"));
    CLASP_ASSIGN_OR_RETURN(base.classes, eval::parse_class_source(arguments.text("classes")));
    base.stress.default_ratio = arguments.number("force-default");
    base.stress.error_ratio = arguments.number("force-errors");
    base.stress.seed = static_cast<std::uint64_t>(arguments.integer("stress-seed"));
    return base;
}

// The variants of a preset; options of the command line give the start.
Result<std::vector<Variant>> read_ablation(const Arguments& arguments, const std::string& name, Variant base,
                                           const EvalEngine& model, Console& console) {
    const bool is_calibration = name == kCalibrationAblation;
    if (arguments.text_if("mass") == kBothMasses) {
        return Status(Code::InvalidArgument,
                      "an ablation takes --mass none or nearest; the preset 'masses' has both");
    }
    base.method = is_calibration ? "clasp+" : "clasp";
    if (arguments.is_given("methods")) {
        CLASP_ASSIGN_OR_RETURN(const std::vector<std::string> methods,
                               read_method_list(arguments.text("methods")));
        if (methods.size() != 1) {
            return Status(Code::InvalidArgument,
                          "an ablation takes one method, not " + base::in_quotes(arguments.text("methods")));
        }
        methods::MethodChoice choice = methods::split_method_choice(methods.front());
        base.method = std::move(choice.name);
        base.method_options = std::move(choice.options);
    }
    eval::AblationBase start;
    start.policy = *base.policy;
    start.method = base.method;
    if (arguments.is_given("budgets")) start.budgets = split_list(arguments.text("budgets"));
    std::erase(start.budgets, "none");
    if (is_calibration) {
        if (start.budgets.size() != 1) {
            return Status(Code::InvalidArgument, "the ablation of calibration takes one budget");
        }
        base.budget = start.budgets.front();
        return calibration_variants(arguments, base, model, console);
    }
    CLASP_ASSIGN_OR_RETURN(const eval::Ablation* preset, eval::find_ablation(name));
    start.n_vision_layers = model.engine->info().vision_blocks;
    start.feature_layer = model.engine->info().feature_layer;
    for (const std::string_view varied : preset->varies) {
        if (!arguments.is_given(varied)) continue;
        return Status(Code::InvalidArgument, "the ablation " + name + " varies what --" +
                                                 std::string(varied) + " would fix; leave the option out");
    }
    std::vector<Variant> variants = preset->variants(start);
    const auto is_fixed = [&](std::string_view option) {
        return std::ranges::find(preset->varies, option) == preset->varies.end();
    };
    for (Variant& variant : variants) {
        variant.detail = base.detail;
        if (variant.is_vanilla()) continue;
        if (is_fixed("classes")) variant.classes = base.classes;
        if (is_fixed("mass")) variant.mass = base.mass;
        if (is_fixed("no-fusion")) variant.use_fusion = base.use_fusion;
        if (is_fixed("select-seed")) variant.select_seed = base.select_seed;
        if (is_fixed("methods")) variant.method_options = base.method_options;
        if (is_fixed("force-errors")) variant.stress = base.stress;
        variant.stress.seed = base.stress.seed;
        variant.budget_kind = base.budget_kind;
        variant.position_mode = base.position_mode;
    }
    return variants;
}

Result<std::vector<Variant>> read_variants(const Arguments& arguments, const std::string& ablation,
                                           const EvalEngine& model, Console& console) {
    CLASP_ASSIGN_OR_RETURN(const Variant base, base_variant(arguments, model.shown));
    std::vector<Variant> variants;
    if (ablation.empty()) {
        CLASP_ASSIGN_OR_RETURN(const std::vector<std::string> methods,
                               read_method_list(arguments.text("methods")));
        variants = eval::cross(methods, split_list(arguments.text("budgets")), base,
                               arguments.text_if("mass") == kBothMasses);
    } else {
        CLASP_ASSIGN_OR_RETURN(variants, read_ablation(arguments, ablation, base, model, console));
    }
    for (const Variant& variant : variants) CLASP_RETURN_IF_ERROR(eval::check_variant(variant));
    return variants;
}

// With --methods all some cannot meet the budget or do not fit the model. One question tells; such rows
// leave, and the reasons come back.
Result<std::vector<std::string>> drop_refused(std::vector<Variant>& variants, const eval::Dataset& dataset,
                                              const eval::Asker& asker) {
    const auto item = std::ranges::find_if(dataset.items, [](const eval::Item& i) { return i.has_image(); });
    if (item == dataset.items.end()) return std::vector<std::string>();
    CLASP_ASSIGN_OR_RETURN(const std::string picture, eval::read_image(*item));
    std::vector<std::string> reasons;
    std::erase_if(variants, [&](const Variant& variant) {
        auto request = eval::variant_request(variant, 1);
        if (!request) return false;
        request->images = {{{}, picture}};
        request->question = item->prompt;
        const auto answer = asker(*request);
        if (answer.ok() || answer.status().code() == Code::Cancelled) return false;
        reasons.push_back(variant.label + " at budget " + variant.budget +
                          " is left out: " + answer.status().message());
        return true;
    });
    return reasons;
}

// The folder for results, and what is there already. A folder with results is only added to on request.
struct OutFolder {
    std::string path;  // empty: none
    eval::RecordTable known;
    std::optional<eval::ResultsWriter> writer;
};

Result<OutFolder> open_folder(const Arguments& arguments, RunDescription& run) {
    OutFolder folder;
    const auto path = arguments.text_if("out");
    if (!path) return folder;
    folder.path = *path;
    std::error_code error;
    fs::create_directories(folder.path, error);
    if (error) {
        return Status(Code::Unavailable, base::path_in_quotes(folder.path) + ": " + error.message());
    }
    const std::string results = eval::results_path(folder.path);
    const bool has_results = fs::exists(results, error) && fs::file_size(results, error) > 0;
    if (has_results && !arguments.flag("resume")) {
        return Status(
            Code::InvalidArgument,
            base::path_in_quotes(folder.path) + " holds results; go on with --resume or name another folder");
    }
    if (has_results) {
        CLASP_ASSIGN_OR_RETURN(const RunDescription before, eval::read_run(folder.path));
        CLASP_RETURN_IF_ERROR(eval::check_same_run(run, before));
        CLASP_ASSIGN_OR_RETURN(folder.known, eval::read_records(results));
    }
    auto writer = eval::ResultsWriter::open(results);
    if (!writer) return writer.status();
    folder.writer.emplace(std::move(writer).value());
    CLASP_RETURN_IF_ERROR(eval::write_run(folder.path, run));
    return folder;
}

void report_missing(const eval::RunReport& report, Console& console) {
    constexpr std::size_t kShown = 5;
    const auto& missing = report.missing_images;
    for (std::size_t i = 0; i < std::min(kShown, missing.size()); ++i) {
        console.err << "warning: question " << base::printable(missing[i].item) << ": "
                    << base::printable(missing[i].reason) << '\n';
    }
    if (!missing.empty()) {
        console.err << "warning: " << missing.size()
                    << " questions could not be asked because their picture is missing or unreadable; they "
                       "count as wrong\n";
    }
    if (!report.without_picture.empty()) {
        console.err << "warning: " << report.without_picture.size()
                    << " questions have no picture; they were not asked and count as wrong\n";
    }
}

// The command line that makes this report again.
std::string command_text(const Arguments& arguments) {
    std::string text = "clasp-vlm eval";
    for (const std::string& word : words_of(arguments)) text += " " + word;
    for (const char* name : {"data", "split"}) {  // of the command, not of running a model
        if (const auto value = arguments.text_if(name)) text += " --" + std::string(name) + " " + *value;
    }
    for (const Option& option : eval_run_options()) {
        if (!arguments.is_given(option.name) || option.name == "out" || option.name == "resume") continue;
        text += " --" + std::string(option.name);
        if (option.type != OptionType::Flag) text += " " + arguments.text(option.name);
    }
    return text;
}

Status publish(const Arguments& arguments, const std::string& folder, draw::EvalReport report,
               const std::vector<std::string>& methods, Console& console) {
    if (!folder.empty()) CLASP_RETURN_IF_ERROR(write_report_files(folder, report, methods));
    if (arguments.flag("json") && report.summaries.size() == 1) {
        console.out << base::dump_json(eval::summary_json(report.summaries.front(), methods)) << '\n';
    } else if (arguments.flag("json")) {
        Json json = Json::array();
        for (const eval::Summary& summary : report.summaries) {
            json.push_back(eval::summary_json(summary, methods));
        }
        write_json(console, {{"benchmarks", json}});
    } else {
        for (const eval::Summary& summary : report.summaries) print_summary(summary, console);
    }
    for (const eval::Summary& summary : report.summaries) {
        for (const eval::Row& row : summary.rows) {
            if (row.n_answered == summary.n_questions) continue;
            console.err << "warning: " << row.label << " at budget " << row.budget << " answered "
                        << row.n_answered << " of " << summary.n_questions << " questions of "
                        << summary.title << "; the others count as wrong\n";
        }
    }
    if (!folder.empty()) console.err << "report: " << base::printable(folder) << "/report.html\n";
    return ok_status();
}

Status run_benchmark(const std::string& benchmark, const std::string& ablation, const Arguments& arguments,
                     Console& console) {
    CLASP_ASSIGN_OR_RETURN(const EvalData data, load_eval_data(benchmark, arguments));
    CLASP_ASSIGN_OR_RETURN(const EvalEngine model, load_eval_engine(arguments, data, console));
    CLASP_ASSIGN_OR_RETURN(std::vector<Variant> variants, read_variants(arguments, ablation, model, console));
    const eval::Asker asker = [&model](const AskRequest& asking) { return model.engine->ask(asking); };
    std::vector<std::string> refusals;
    if (ablation.empty() && arguments.text("methods") == "all") {
        CLASP_ASSIGN_OR_RETURN(refusals, drop_refused(variants, data.dataset, asker));
        for (const std::string& refusal : refusals) console.err << "note: " << refusal << '\n';
        if (variants.empty()) return {Code::InvalidArgument, "no method can meet these budgets"};
    }
    RunDescription run;
    run.benchmark = benchmark;
    run.data = arguments.text("data");
    run.split = arguments.text_if("split").value_or("");
    run.data_hash = data.hash;
    run.model = model.name;
    run.model_hash = model.hash;
    run.limit = static_cast<std::size_t>(arguments.integer("limit"));
    run.max_tokens = max_tokens(arguments, *data.benchmark);
    if (const auto shard = arguments.text_if("shard")) {
        CLASP_ASSIGN_OR_RETURN(run.shard, eval::parse_shard(*shard));
    }
    run.ablation = ablation;
    if (ablation.empty()) {
        CLASP_ASSIGN_OR_RETURN(run.methods, read_method_list(arguments.text("methods")));
    }
    for (const PolicyClass& entry : variants.front().policy->classes) run.class_names.push_back(entry.name);
    for (const Variant& variant : variants) run.rows.push_back(eval::row_spec(variant, run.max_tokens));

    // Before hours of asking, not after.
    CLASP_RETURN_IF_ERROR(eval::check_against(run.rows, labels_to_compare_with(arguments)));
    CLASP_ASSIGN_OR_RETURN(OutFolder folder, open_folder(arguments, run));
    eval::RunRequest request;
    request.benchmark = data.benchmark;
    request.dataset = &data.dataset;
    request.items = eval::shard_items(data.dataset, run.shard);
    request.variants = variants;
    request.max_tokens = run.max_tokens;
    request.writer = folder.writer ? &*folder.writer : nullptr;
    CLASP_ASSIGN_OR_RETURN(const eval::RunReport done,
                           run_with_progress(request, asker, std::move(folder.known), console));
    report_missing(done, console);
    if (done.was_cancelled || interrupted().load()) {
        return {Code::Cancelled, folder.path.empty() ? "stopped" : "stopped; --resume goes on from here"};
    }
    if (done.asked + done.reused == 0) return {Code::NotFound, "not one question could be asked"};
    run.unasked = done.missing_images;
    run.unasked.insert(run.unasked.end(), done.without_picture.begin(), done.without_picture.end());
    if (!folder.path.empty()) CLASP_RETURN_IF_ERROR(eval::write_run(folder.path, run));

    const eval::Dataset counted = shard_dataset(data.dataset, run.shard);
    auto summary = summarise_run(run, *data.benchmark, counted, done.records, arguments);
    if (!summary && summary.status().code() == Code::Unsupported && !folder.path.empty()) {
        console.err << "note: " << summary.status().message() << "; the answers are in "
                    << eval::results_path(folder.path) << '\n';
        return ok_status();
    }
    if (!summary) return summary.status();
    summary->missing_images = done.missing_images;
    summary->without_picture = done.without_picture;
    summary->notes.insert(summary->notes.end(), refusals.begin(), refusals.end());
    draw::EvalReport report;
    report.title = std::string(data.benchmark->title) +
                   (ablation.empty() ? ": methods by budget" : ": ablation of " + ablation);
    report.command = command_text(arguments);
    if (!folder.path.empty()) {
        CLASP_ASSIGN_OR_RETURN(report.cases,
                               regression_cases(*summary, counted, variants, asker, run.max_tokens));
    }
    report.summaries.push_back(std::move(summary).value());
    return publish(arguments, folder.path, std::move(report), run.methods, console);
}

// ---- Runs that are there already ----

struct StoredRun {
    RunDescription run;
    eval::RecordTable records;
};

Result<StoredRun> read_stored(const std::string& folder) {
    StoredRun stored;
    CLASP_ASSIGN_OR_RETURN(stored.run, eval::read_run(folder));
    CLASP_ASSIGN_OR_RETURN(stored.records, eval::read_records(eval::results_path(folder)));
    return stored;
}

Result<eval::Summary> summarise_stored(const StoredRun& stored, const Arguments& arguments) {
    CLASP_ASSIGN_OR_RETURN(const eval::Benchmark* benchmark, eval::find_benchmark(stored.run.benchmark));
    eval::LoadOptions options;
    options.split = stored.run.split;
    CLASP_ASSIGN_OR_RETURN(eval::Dataset dataset,
                           benchmark->load(arguments.text_if("data").value_or(stored.run.data), options));
    if (eval::dataset_hash(dataset) != stored.run.data_hash) {
        return Status(Code::InvalidArgument, "the questions in --data are not those that the run of " +
                                                 stored.run.benchmark + " asked");
    }
    eval::cut_dataset(dataset, stored.run.limit, !benchmark->is_mean);
    const eval::Dataset asked = shard_dataset(dataset, stored.run.shard);
    if (!arguments.flag("partial")) {
        const auto status = eval::check_complete(stored.run, asked, stored.records);
        if (!status.ok()) return status;
    }
    CLASP_ASSIGN_OR_RETURN(eval::Summary summary,
                           summarise_run(stored.run, *benchmark, asked, stored.records, arguments));
    summary.missing_images = stored.run.unasked;
    return summary;
}

bool holds(const eval::RecordTable& table, const std::string& variant, const std::string& item) {
    const auto records = table.find(variant);
    return records != table.end() && records->second.find(item) != records->second.end();
}

Status run_merge(const Arguments& arguments, Console& console) {
    const std::vector<std::string>& words = words_of(arguments);
    CLASP_ASSIGN_OR_RETURN(StoredRun all, read_stored(words[1]));
    for (std::size_t i = 2; i < words.size(); ++i) {
        CLASP_ASSIGN_OR_RETURN(const StoredRun other, read_stored(words[i]));
        auto status = eval::check_same_run(all.run, other.run);
        if (status.ok()) status = eval::merge_records(other.records, all.records);
        if (!status.ok()) return status.with_context(base::path_in_quotes(words[i]));
        for (const eval::RowSpec& row : other.run.rows) {
            const bool is_known =
                std::any_of(all.run.rows.begin(), all.run.rows.end(),
                            [&](const eval::RowSpec& known) { return known.variant == row.variant; });
            if (!is_known) all.run.rows.push_back(row);
        }
        all.run.unasked.insert(all.run.unasked.end(), other.run.unasked.begin(), other.run.unasked.end());
        for (const std::string& method : other.run.methods) {
            const auto& known = all.run.methods;
            if (std::find(known.begin(), known.end(), method) == known.end())
                all.run.methods.push_back(method);
        }
    }
    all.run.shard = {};
    CLASP_ASSIGN_OR_RETURN(eval::Summary summary, summarise_stored(all, arguments));
    CLASP_ASSIGN_OR_RETURN(OutFolder folder, open_folder(arguments, all.run));
    const eval::RecordTable before = folder.known;
    const auto agree = eval::merge_records(all.records, folder.known);
    if (!agree.ok()) return agree.with_context(base::path_in_quotes(folder.path));
    for (const auto& [key, records] : all.records) {
        for (const auto& [item, record] : records) {
            if (!holds(before, key, item)) CLASP_RETURN_IF_ERROR(folder.writer->append(record));
        }
    }
    draw::EvalReport report;
    report.title = summary.title + ": methods by budget";
    report.summaries.push_back(std::move(summary));
    return publish(arguments, folder.path, std::move(report), all.run.methods, console);
}

Status run_report(const Arguments& arguments, Console& console) {
    const std::vector<std::string>& words = words_of(arguments);
    draw::EvalReport report;
    report.title = "Methods by budget";
    std::vector<std::string> methods;
    for (std::size_t i = 1; i < words.size(); ++i) {
        CLASP_ASSIGN_OR_RETURN(const StoredRun stored, read_stored(words[i]));
        auto summary = summarise_stored(stored, arguments);
        if (!summary) return summary.status().with_context(base::path_in_quotes(words[i]));
        report.summaries.push_back(std::move(summary).value());
        methods = stored.run.methods;
    }
    const std::string folder = arguments.text("out");
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return {Code::Unavailable, base::path_in_quotes(folder) + ": " + error.message()};
    return publish(arguments, folder, std::move(report), methods, console);
}

// Names and values that can be told wrong before the data are read.
Status check_eval_values(const Arguments& arguments) {
    const std::vector<std::string>& words = words_of(arguments);
    const bool is_ablation = words[0] == "ablation";
    CLASP_RETURN_IF_ERROR(
        eval::find_benchmark(is_ablation ? arguments.text("benchmark") : words[0]).status());
    if (is_ablation && words[1] != kCalibrationAblation)
        CLASP_RETURN_IF_ERROR(eval::find_ablation(words[1]).status());
    CLASP_ASSIGN_OR_RETURN(const eval::Variant base, base_variant(arguments));
    CLASP_ASSIGN_OR_RETURN(const auto names, read_method_list(arguments.text("methods")));
    for (const std::string& name : names) {
        if (base.mass != MassRule::Nearest) break;
        CLASP_ASSIGN_OR_RETURN(const methods::Method* method,
                               methods::find_method(methods::split_method_choice(name).name));
        CLASP_RETURN_IF_ERROR(methods::check_masses(*method));
    }
    for (const std::string& budget : split_list(arguments.text("budgets")))
        CLASP_RETURN_IF_ERROR(parse_budget(budget).status());
    const auto shard = arguments.text_if("shard");
    return shard ? eval::parse_shard(*shard).status() : ok_status();
}

}  // namespace

Status check_eval_run(const Arguments& arguments) {
    const std::vector<std::string>& words = words_of(arguments);
    CLASP_RETURN_IF_ERROR(check_eval_options(arguments, words));
    const bool reads_runs = words[0] == "merge" || words[0] == "report";
    if (reads_runs) {
        if (words.size() < 2 || !arguments.is_given("out")) {
            return {Code::InvalidArgument, "'eval " + words[0] + "' takes folders of runs and --out DIR"};
        }
        return ok_status();
    }
    if (arguments.flag("partial")) {
        return {Code::InvalidArgument, "--partial goes with 'eval merge' and 'eval report'"};
    }
    const std::size_t expected = words[0] == "ablation" ? 2 : 1;
    if (words.size() != expected) {
        return {Code::InvalidArgument,
                expected == 2 ? "'eval ablation' takes the name of one preset" : "one benchmark at a time"};
    }
    if (!arguments.is_given("data")) return {Code::InvalidArgument, "--data DIR is required"};
    if (arguments.flag("resume") && !arguments.is_given("out")) {
        return {Code::InvalidArgument, "--resume goes on with a run in --out DIR"};
    }
    CLASP_RETURN_IF_ERROR(read_vision_model(arguments).status());
    return check_eval_values(arguments);
}

Status run_eval(const Arguments& arguments, Console& console) {
    const std::vector<std::string>& words = words_of(arguments);
    if (words[0] == "merge") return run_merge(arguments, console);
    if (words[0] == "report") return run_report(arguments, console);
    if (words[0] == "ablation")
        return run_benchmark(arguments.text("benchmark"), words[1], arguments, console);
    return run_benchmark(words[0], "", arguments, console);
}

}  // namespace clasp::cli
