// clasp-vlm calibrate: the policy that suits a model, data and a budget.
#include <filesystem>
#include <iomanip>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "calibrate/calibrate.h"
#include "cli/ask_options.h"
#include "cli/calibrate_command.h"
#include "cli/eval_setup.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/progress_line.h"
#include "cli/request_rows.h"
#include "draw/calibration_report.h"
#include "draw/report_table.h"
#include "methods/method.h"

namespace clasp::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxSpaceBytes = std::size_t{1} << 20U;

std::string work_folder(const Arguments& arguments) {
    return arguments.text_if("work").value_or(arguments.text("out") + ".calibration");
}

// Answers live in a folder beside the policy, in the format of an evaluation.
struct Work {
    eval::RecordTable known;
    std::optional<eval::ResultsWriter> writer;
};

Result<Work> open_work(const Arguments& arguments, const eval::RunDescription& run) {
    const std::string folder = work_folder(arguments);
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return Status(Code::Unavailable, base::path_in_quotes(folder) + ": " + error.message());
    const std::string results = eval::results_path(folder);
    const bool has_results = fs::exists(results, error) && fs::file_size(results, error) > 0;
    if (has_results && !arguments.flag("resume")) {
        return Status(Code::InvalidArgument,
                      base::path_in_quotes(folder) +
                          " holds answers of an earlier search; use them with --resume or "
                          "name another folder with --work");
    }
    Work work;
    if (has_results) {
        CLASP_ASSIGN_OR_RETURN(const eval::RunDescription before, eval::read_run(folder));
        CLASP_RETURN_IF_ERROR(eval::check_same_run(run, before));
        CLASP_ASSIGN_OR_RETURN(work.known, eval::read_records(results));
    }
    auto writer = eval::ResultsWriter::open(results);
    if (!writer) return writer.status();
    work.writer.emplace(std::move(writer).value());
    CLASP_RETURN_IF_ERROR(eval::write_run(folder, run));
    return work;
}

Result<calibrate::CalibrateRequest> read_calibration(const Arguments& arguments, const EvalEngine& loaded) {
    const ModelInfo& model = loaded.engine->info();
    calibrate::CalibrateRequest request;
    CLASP_ASSIGN_OR_RETURN(request.start, read_policy_option(arguments, loaded.shown));
    request.method = arguments.text("method");
    request.budget = arguments.text("budget");
    if (const auto path = arguments.text_if("space")) {
        CLASP_ASSIGN_OR_RETURN(const std::string text, base::read_file(*path, kMaxSpaceBytes));
        CLASP_ASSIGN_OR_RETURN(request.space, calibrate::parse_space(text, model.vision_blocks));
    } else {
        request.space = calibrate::default_space(model.vision_blocks, model.feature_layer);
    }
    CLASP_ASSIGN_OR_RETURN(request.classes, eval::parse_class_source(arguments.text("classes")));
    request.order =
        arguments.text("order") == "joint" ? calibrate::SearchOrder::Joint : calibrate::SearchOrder::TwoPhase;
    CLASP_ASSIGN_OR_RETURN(request.sampling.sampling, calibrate::parse_sampling(arguments.text("sampling")));
    request.sampling.per_class = static_cast<std::size_t>(arguments.integer("samples-per-class"));
    request.sampling.held_out = arguments.number("held-out");
    request.sampling.seed = static_cast<std::uint64_t>(arguments.integer("seed"));
    request.race.first_block = static_cast<std::size_t>(arguments.integer("first-block"));
    request.rounds = static_cast<std::size_t>(arguments.integer("rounds"));
    request.refine = static_cast<std::size_t>(arguments.integer("refine"));
    return request;
}

Json as_json(const calibrate::ClassReport& entry) {
    return {{"id", entry.id},
            {"name", entry.name},
            {"searched", entry.n_search},
            {"held_out", entry.n_held_out},
            {"changed", entry.is_changed},
            {"mix", entry.chosen.mix_name},
            {"split", entry.chosen.split},
            {"search_before", base::or_null(entry.search_before)},
            {"search_winner", base::or_null(entry.search_winner)},
            {"held_out_before", base::or_null(entry.held_out_before)},
            {"held_out_winner", base::or_null(entry.held_out_winner)}};
}

void print(const calibrate::CalibrateReport& report, Console& console) {
    console.out
        << "class                               search: before  best   held out: before  best   taken\n";
    for (const calibrate::ClassReport& entry : report.classes) {
        console.out << std::left << std::setw(36) << entry.name << std::right << std::setw(14)
                    << draw::percent_text(entry.search_before) << std::setw(7)
                    << draw::percent_text(entry.search_winner) << std::setw(19)
                    << draw::percent_text(entry.held_out_before) << std::setw(6)
                    << draw::percent_text(entry.held_out_winner) << "   "
                    << (entry.is_changed
                            ? entry.chosen.mix_name + ", split " + base::format_number(entry.chosen.split, 3)
                            : "as it was")
                    << '\n';
    }
}

Status check(const Arguments& arguments) {
    CLASP_ASSIGN_OR_RETURN(const BudgetSpec budget, parse_budget(arguments.text("budget")));
    if (budget.kind == BudgetSpec::Kind::None || budget.kind == BudgetSpec::Kind::Auto) {
        return {Code::InvalidArgument, "a policy is calibrated for a budget in tokens or per cent"};
    }
    if (arguments.is_given("rounds") && arguments.text("order") == "joint") {
        return {Code::InvalidArgument, "--rounds goes with --order two-phase"};
    }
    CLASP_RETURN_IF_ERROR(read_policy_option(arguments).status());
    CLASP_RETURN_IF_ERROR(methods::find_method(arguments.text("method")).status());
    CLASP_RETURN_IF_ERROR(eval::find_benchmark(arguments.text("benchmark")).status());
    return read_vision_model(arguments).status();
}

Status run(const Arguments& arguments, Console& console) {
    CLASP_ASSIGN_OR_RETURN(const EvalData data, load_eval_data(arguments.text("benchmark"), arguments));
    CLASP_ASSIGN_OR_RETURN(const EvalEngine model, load_eval_engine(arguments, data, console));
    CLASP_ASSIGN_OR_RETURN(calibrate::CalibrateRequest request, read_calibration(arguments, model));
    request.benchmark = data.benchmark;
    request.dataset = &data.dataset;
    request.max_tokens = max_tokens(arguments, *data.benchmark);
    eval::RunDescription description;
    description.benchmark = arguments.text("benchmark");
    description.data = arguments.text("data");
    description.data_hash = data.hash;
    description.model = model.name;
    description.model_hash = model.hash;
    description.max_tokens = request.max_tokens;
    CLASP_ASSIGN_OR_RETURN(Work work, open_work(arguments, description));
    request.writer = &*work.writer;
    request.known = std::move(work.known);
    request.cancel = &interrupted();
    ProgressLine line(console, "answers");
    request.on_progress = [&](std::size_t class_id, const eval::Progress& progress) {
        line.update(progress.done, progress.total, progress.rate(), progress.seconds_left(),
                    request.start.classes[class_id].name);
    };
    auto report = calibrate::calibrate(
        request, [&model](const AskRequest& asking) { return model.engine->ask(asking); });
    line.finish();
    if (report) {
        for (const std::string& warning : report->warnings) console.err << "warning: " << warning << '\n';
    }
    if (!report && report.status().code() == Code::Cancelled) {
        return {Code::Cancelled, "stopped; --resume goes on from here"};
    }
    if (!report) return report.status();

    Policy policy = report->policy;
    policy.name = fs::path(arguments.text("out")).stem().string();
    policy.description = "calibrated for " + model.name + " at budget " + request.budget;
    policy.n_vision_layers = model.engine->info().vision_blocks;
    policy.provenance = calibrate::provenance_json(
        request, *report, {model.name, model.hash, arguments.text("data"), data.hash});
    CLASP_RETURN_IF_ERROR(write_policy(policy, arguments.text("out")));
    CLASP_RETURN_IF_ERROR(base::write_file_atomic(work_folder(arguments) + "/search.html",
                                                  draw::calibration_html(*report, policy.description)));
    if (arguments.flag("json")) {
        Json json = {{"out", arguments.text("out")}, {"hash", policy_hash(policy)},
                     {"asked", report->asked},       {"seconds", report->seconds},
                     {"warnings", report->warnings}, {"classes", Json::array()}};
        for (const calibrate::ClassReport& entry : report->classes) json["classes"].push_back(as_json(entry));
        write_json(console, json);
        return ok_status();
    }
    print(*report, console);
    console.out << "wrote " << base::printable(arguments.text("out")) << " ("
                << policy_hash(policy).substr(0, 16) << "), " << report->asked << " answers in "
                << duration_text(report->seconds) << '\n';
    return ok_status();
}

}  // namespace

Command calibrate_command() {
    Command command = {
        .name = "calibrate",
        .summary = "Search the policy that suits your model, data and budget",
        .options = request::options_of(request::Scope::Model),
        .notes =
            "Every class is searched on its own; a held-out part of the data decides between the best "
            "setting "
            "found and the one that was there. The search is drawn in DIR/search.html of --work.",
        .check = check,
        .run = run,
    };
    const auto add = [&command](std::vector<Option> more) {
        command.options.insert(command.options.end(), more.begin(), more.end());
    };
    add({
        {.name = "data",
         .type = OptionType::File,
         .value = "DIR",
         .help = "folder with questions and answers",
         .is_required = true},
        {.name = "benchmark",
         .type = OptionType::Text,
         .value = "NAME",
         .fallback = "scenes",
         .help = "format and scoring of the data"},
        {.name = "split", .type = OptionType::Text, .value = "NAME", .help = "which part of the benchmark"},
        {.name = "limit",
         .type = OptionType::Integer,
         .value = "N",
         .fallback = "0",
         .help = "only the first N questions of the data (0: all)",
         .min = 0,
         .max = 1e9},
        {.name = "budget",
         .type = OptionType::Text,
         .value = "N|P%",
         .help = "visual tokens per decoder layer on average, under which settings are compared",
         .is_required = true},
        {.name = "out",
         .type = OptionType::File,
         .value = "POLICY.json",
         .help = "the policy file",
         .is_required = true,
         .writes = Writes::File},
        option_with_help(
            "policy",
            "where the search starts, and what a class keeps if nothing is better (default: the model's own, "
            "or llava)"),
        {.name = "method",
         .type = OptionType::Text,
         .value = "NAME",
         .fallback = "clasp+",
         .help = "method that the policy is for"},
        class_source_option(),
        {.name = "samples-per-class",
         .type = OptionType::Integer,
         .value = "N",
         .fallback = "200",
         .help = "questions per class, held-out ones among them",
         .min = 2,
         .max = 1e7},
        {.name = "sampling",
         .type = OptionType::Choice,
         .value = "HOW",
         .fallback = "balanced",
         .help = "the same number of every class, or the data's own proportions",
         .choices = {"balanced", "random"}},
        {.name = "held-out",
         .type = OptionType::Number,
         .value = "SHARE",
         .fallback = "0.3",
         .help = "share of the questions that has the last word",
         .min = 0.01,
         .max = 0.9},
        {.name = "seed",
         .type = OptionType::Integer,
         .value = "S",
         .fallback = "1",
         .help = "which questions are drawn",
         .min = 0,
         .max = 9e15},
        {.name = "order",
         .type = OptionType::Choice,
         .value = "HOW",
         .fallback = "two-phase",
         .help = "the mix first and then the split, or every mix with every split",
         .choices = {"two-phase", "joint"}},
        {.name = "rounds",
         .type = OptionType::Integer,
         .value = "N",
         .fallback = "2",
         .help = "how often at most the two phases are gone through, each time from the last winner",
         .min = 1,
         .max = 100},
        {.name = "space",
         .type = OptionType::File,
         .value = "FILE.json",
         .help = "mixes and splits to try (default: those of the paper's tables)"},
        {.name = "refine",
         .type = OptionType::Integer,
         .value = "N",
         .fallback = "0",
         .help = "also try N shaken copies of each winner",
         .min = 0,
         .max = 10000},
        {.name = "first-block",
         .type = OptionType::Integer,
         .value = "N",
         .fallback = "16",
         .help = "questions after which the first candidates may leave",
         .group = OptionGroup::Performance,
         .min = 1,
         .max = 1e6},
        max_tokens_option(),
        {.name = "work",
         .type = OptionType::File,
         .value = "DIR",
         .help = "folder for the answers and the drawing of the search (default: POLICY.json.calibration)",
         .group = OptionGroup::Output,
         .writes = Writes::Folder},
        {.name = "resume", .help = "use the answers that are in --work"},
    });
    add(request::options_of(request::Scope::Engine));
    return command;
}

}  // namespace clasp::cli
