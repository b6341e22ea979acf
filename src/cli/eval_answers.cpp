#include "cli/eval_answers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "cli/output.h"
#include "eval/benchmark.h"
#include "eval/data_folder.h"
#include "eval/judge_client.h"

namespace clasp::cli {

namespace {

namespace fs = std::filesystem;

// The value with the digits that the benchmark prints.
double printed_value(const eval::Metric& metric) {
    const std::string text = fixed(metric.value, metric.digits);
    double value = metric.value;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

// "3 answers are missing, the first for question 'x'".
void warn_ids(Console& console, const std::vector<std::string>& ids, std::string_view what) {
    if (ids.empty()) return;
    console.err << "warning: " << ids.size() << (ids.size() == 1 ? " answer " : " answers ") << what
                << ", the first for question " << base::printable(ids.front()) << '\n';
}

Status check_strict(const eval::Answers& answers) {
    const auto problem = [](const std::vector<std::string>& ids, const std::string& what) -> Status {
        if (ids.empty()) return ok_status();
        return {Code::Corrupt, std::to_string(ids.size()) + " answers " + what + ", the first for question " +
                                   ids.front() + ", and --strict allows none"};
    };
    CLASP_RETURN_IF_ERROR(problem(answers.missing, "are missing"));
    CLASP_RETURN_IF_ERROR(problem(answers.unknown, "belong to no question"));
    return problem(answers.repeated, "come for a question that has one");
}

struct Judged {
    eval::Judgements judgements;
    std::vector<std::string> files;
    bool is_given = false;
};

// Reviews that lie in the data folder under the name of the answers: reviews/NAME-eval1.jsonl, ...
std::vector<std::string> find_reviews(const std::string& folder, const std::string& answers) {
    const std::string stem = fs::path(answers).stem().string();
    std::vector<std::string> found;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(eval::in_folder(folder, "reviews"), error)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with(stem) && name.ends_with(".jsonl")) found.push_back(entry.path().string());
    }
    std::sort(found.begin(), found.end());
    return found;
}

Status read_recorded(const eval::Benchmark& benchmark, const std::vector<std::string>& files,
                     Judged& judged) {
    for (const std::string& file : files) {
        CLASP_ASSIGN_OR_RETURN(const eval::Judgements more, eval::read_judgements(*benchmark.judge, file));
        eval::append_runs(judged.judgements, more);
        judged.files.push_back(file);
        judged.is_given = true;
    }
    return ok_status();
}

// Asks the endpoint for what is not recorded yet; every reply goes into the file as it comes.
Status ask_endpoint(const eval::Benchmark& benchmark, const eval::Dataset& dataset,
                    const eval::Answers& answers, const Arguments& arguments, Console& console,
                    Judged& judged) {
    eval::JudgeEndpoint endpoint;
    endpoint.url = arguments.text("judge");
    endpoint.model = arguments.text_if("judge-model").value_or(std::string(benchmark.judge->model));
    if (const char* key = std::getenv(arguments.text("judge-key-env").c_str())) endpoint.api_key = key;
    const std::string folder = arguments.text("data");
    if (!eval::is_file(eval::in_folder(folder, benchmark.judge->wording_file))) {
        console.err
            << "warning: " << benchmark.judge->wording_file
            << " is not in the data folder, so the judge is asked in our own words and the score does not "
               "compare with published ones\n";
    }
    std::ofstream record;
    const std::vector<std::string>& files = arguments.all("judgements");
    if (!files.empty()) {
        record.open(files.front(), std::ios::app);
        if (!record) return {Code::Unavailable, "cannot write the judgements to " + files.front()};
    }
    eval::JudgeRun run;
    run.ask = [&](const eval::JudgeRequest& request) { return eval::ask_judge(endpoint, request); };
    run.record = [&](std::string_view id, std::string_view reply) -> Status {
        if (!record.is_open()) return ok_status();
        record << eval::reply_line(id, reply) << std::flush;
        return record ? ok_status()
                      : Status(Code::Unavailable, "cannot write the judgements to " + files.front());
    };
    run.progress = [&](std::size_t done, std::size_t total) {
        if (console.err_is_terminal)
            console.terminal() << "\rjudged " << done << " of " << total << std::flush;
    };
    CLASP_RETURN_IF_ERROR(eval::judge_answers(benchmark, dataset, answers, folder, run, judged.judgements));
    if (console.err_is_terminal) console.terminal() << std::endl;
    judged.is_given = true;
    return ok_status();
}

Result<Judged> get_judgements(const eval::Benchmark& benchmark, const eval::Dataset& dataset,
                              const eval::Answers& answers, const Arguments& arguments, Console& console) {
    Judged judged;
    if (!benchmark.needs_judge) return judged;
    std::vector<std::string> files = arguments.all("judgements");
    const bool asks = arguments.is_given("judge");
    if (asks) std::erase_if(files, [](const std::string& file) { return !eval::is_file(file); });
    if (files.empty() && !asks) {
        files = find_reviews(arguments.text("data"), arguments.text("answers"));
        for (const std::string& file : files) console.err << "judgements: " << file << '\n';
    }
    CLASP_RETURN_IF_ERROR(read_recorded(benchmark, files, judged));
    if (asks) CLASP_RETURN_IF_ERROR(ask_endpoint(benchmark, dataset, answers, arguments, console, judged));
    return judged;
}

struct Loaded {
    eval::Answers answers;
    Judged judged;
};

// The file of --answers. For benchmarks with a judge it may also be a file of judgements: then these are
// scored, and the answers behind them do not matter.
Result<Loaded> load_answers(const eval::Benchmark& benchmark, const eval::Dataset& dataset,
                            const Arguments& arguments, Console& console) {
    Loaded loaded;
    const std::string path = arguments.text("answers");
    const auto predictions = eval::read_predictions(path);
    if (!predictions && benchmark.needs_judge && predictions.status().code() == Code::Corrupt &&
        read_recorded(benchmark, {path}, loaded.judged).ok()) {
        loaded.answers.texts.resize(dataset.items.size());
        return loaded;
    }
    if (!predictions) return predictions.status();
    CLASP_ASSIGN_OR_RETURN(loaded.answers, benchmark.match(dataset, *predictions));
    CLASP_ASSIGN_OR_RETURN(loaded.judged,
                           get_judgements(benchmark, dataset, loaded.answers, arguments, console));
    return loaded;
}

Json as_json(const eval::Benchmark& benchmark, const eval::Dataset& dataset, const Loaded& loaded,
             const eval::Scores& scores) {
    Json metrics = Json::object();
    Json counts = Json::object();
    for (const eval::Metric& metric : scores.metrics) {
        // Counts as whole numbers, the rest as the benchmark prints it.
        if (metric.digits == 0) {
            metrics[metric.name] = static_cast<long long>(metric.value);
        } else {
            metrics[metric.name] = printed_value(metric);
        }
        if (metric.n > 0) counts[metric.name] = metric.n;
    }
    Json json = {{"benchmark", benchmark.name},
                 {"split", dataset.split},
                 {"score", printed_value(scores.headline)},
                 {"metric", scores.headline.name},
                 {"metrics", metrics},
                 {"counts", counts},
                 {"questions", dataset.items.size()},
                 {"missing", loaded.answers.missing.size()},
                 {"unknown", loaded.answers.unknown.size()},
                 {"repeated", loaded.answers.repeated.size()},
                 {"warnings", dataset.warnings},
                 {"files", dataset.files}};
    if (!loaded.judged.files.empty()) json["judgements"] = loaded.judged.files;
    return json;
}

void print(const eval::Benchmark& benchmark, const eval::Dataset& dataset, const eval::Scores& scores,
           Console& console) {
    std::size_t width = 0;
    for (const eval::Metric& metric : scores.metrics) width = std::max(width, metric.name.size());
    console.out << benchmark.title << (dataset.split.empty() ? "" : " " + dataset.split) << ", "
                << dataset.items.size()
                << " questions: " << fixed(scores.headline.value, scores.headline.digits) << "  ("
                << scores.headline.name << ": " << benchmark.headline << ")\n";
    for (const eval::Metric& metric : scores.metrics) {
        const std::string value = fixed(metric.value, metric.digits);
        console.out << "  " << metric.name << std::string(width - metric.name.size() + 2, ' ')
                    << std::string(value.size() < 9 ? 9 - value.size() : 0, ' ') << value;
        if (metric.n > 0) console.out << "  n = " << metric.n;
        console.out << '\n';
    }
}

}  // namespace

std::vector<Option> eval_answers_options() {
    return {
        {.name = "answers",
         .type = OptionType::File,
         .value = "FILE.jsonl",
         .help = "score these answers (\"question_id\", \"text\" per line) instead of running a model"},
        {.name = "strict", .help = "with --answers: missing, unknown and repeated answers are errors"},
        {.name = "judgements",
         .type = OptionType::File,
         .value = "FILE",
         .help = "recorded replies of a judge, one file per grading run; with --judge new ones are added to "
                 "the first",
         .is_repeatable = true},
        {.name = "judge",
         .type = OptionType::Text,
         .value = "URL",
         .help = "OpenAI-compatible endpoint that grades, such as http://127.0.0.1:8080/v1"},
        {.name = "judge-model",
         .type = OptionType::Text,
         .value = "NAME",
         .help = "model that the endpoint shall use (default: the one of the published figures)"},
        {.name = "judge-key-env",
         .type = OptionType::Text,
         .value = "NAME",
         .fallback = "OPENAI_API_KEY",
         .help = "environment variable with the endpoint's key, if it wants one"},
    };
}

Status check_eval_answers(const Arguments& arguments) {
    if (!arguments.is_given("data"))
        return {Code::InvalidArgument, "--answers needs --data DIR with the questions"};
    if (arguments.positional("BENCHMARK").size() != 1) {
        return {Code::InvalidArgument, "--answers takes one benchmark"};
    }
    const auto benchmark = eval::find_benchmark(arguments.positional("BENCHMARK").front());
    if (!benchmark) return {Code::InvalidArgument, benchmark.status().message()};
    if (arguments.is_given("split") && !(*benchmark)->has_splits) {
        return {Code::InvalidArgument, std::string((*benchmark)->title) + " has no splits to choose from"};
    }
    if ((arguments.is_given("judge") || arguments.is_given("judgements")) && !(*benchmark)->needs_judge) {
        return {Code::InvalidArgument, std::string((*benchmark)->title) + " is scored without a judge"};
    }
    return ok_status();
}

Status run_eval_answers(const Arguments& arguments, Console& console) {
    CLASP_ASSIGN_OR_RETURN(const eval::Benchmark* const benchmark,
                           eval::find_benchmark(arguments.positional("BENCHMARK").front()));
    CLASP_ASSIGN_OR_RETURN(
        const eval::Dataset dataset,
        benchmark->load(arguments.text("data"), {arguments.text_if("split").value_or("")}));
    for (const std::string& warning : dataset.warnings)
        console.err << "warning: " << base::printable(warning) << '\n';
    CLASP_ASSIGN_OR_RETURN(const Loaded loaded, load_answers(*benchmark, dataset, arguments, console));
    if (arguments.flag("strict")) CLASP_RETURN_IF_ERROR(check_strict(loaded.answers));
    warn_ids(console, loaded.answers.missing, "missing, counted as wrong");
    warn_ids(console, loaded.answers.unknown, "to questions that the data do not have, left out");
    warn_ids(console, loaded.answers.repeated, "to questions answered before, the last one counts");
    CLASP_ASSIGN_OR_RETURN(const eval::Scores scores,
                           benchmark->score(dataset, loaded.answers,
                                            loaded.judged.is_given ? &loaded.judged.judgements : nullptr));
    if (benchmark->is_video && benchmark->needs_judge && !loaded.judged.is_given) {
        console.err
            << "warning: without a judge this is exact match, which does not compare with judged figures\n";
    }
    if (arguments.flag("json")) {
        write_json(console, as_json(*benchmark, dataset, loaded, scores));
    } else {
        print(*benchmark, dataset, scores, console);
    }
    return ok_status();
}

}  // namespace clasp::cli
