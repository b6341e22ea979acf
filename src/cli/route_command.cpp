// clasp-vlm route: the class of a question, of a file of questions, and why.
#include <algorithm>
#include <iomanip>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "clasp/route.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/route_train.h"
#include "cli/router_options.h"
#include "request/option_table.h"
#include "request/question_text.h"
#include "request/route_json.h"
#include "request/router_files.h"

namespace clasp::cli {

namespace {

Status check(const Arguments& arguments) {
    const bool has_question = !arguments.positional("QUESTION").empty();
    const bool is_training = arguments.is_given("data");
    if (is_training) return check_route_train(arguments);
    for (const char* name : {"out", "report", "without", "confusion"}) {
        if (arguments.is_given(name)) {
            return {Code::InvalidArgument, std::string("--") + name + " goes with 'route train --data FILE'"};
        }
    }
    if (has_question == arguments.is_given("file")) {
        return {Code::InvalidArgument, has_question ? "a question and --file exclude each other"
                                                    : "a question or --file is required"};
    }
    if (has_question)
        CLASP_RETURN_IF_ERROR(request::check_question(arguments.positional("QUESTION").front()));
    if (arguments.flag("explain") && arguments.is_given("file")) {
        return {Code::InvalidArgument, "--explain takes one question, not a file"};
    }
    return check_router_options(arguments);
}

using request::rounded_share;
using request::route_json;

void print(const RouteDecision& decision, Console& console) {
    console.out << decision.class_id << "  " << base::printable(decision.class_name) << "  ("
                << base::printable(decision.intent) << ", "
                << fixed(100.0 * static_cast<double>(decision.confidence), 1) << " %, by "
                << routed_by_name(decision.by) << ")\n";
    if (!decision.reason.empty()) console.out << "   " << base::printable(decision.reason) << '\n';
}

void explain(const Router& router, const std::string& question, bool as_json_object, Console& console) {
    const RouteExplanation explanation = router.explain(question);
    if (as_json_object) {
        Json json = route_json(explanation.decision, router);
        json["threshold"] = rounded_share(router.threshold());
        json["words"] = explanation.words;
        json["evidence"] = Json::array();
        for (const RouteEvidence& evidence : explanation.evidence) {
            json["evidence"].push_back(
                {{"feature", evidence.feature}, {"weight", rounded_share(evidence.weight)}});
        }
        write_json(console, json);
        return;
    }
    print(explanation.decision, console);
    console.out << "words:";
    for (const std::string& word : explanation.words) console.out << ' ' << word;
    console.out << "\nweight  feature (for " << base::printable(explanation.decision.intent) << ")\n";
    for (const RouteEvidence& evidence : explanation.evidence) {
        console.out << std::setw(6) << fixed(static_cast<double>(evidence.weight), 2) << "  "
                    << evidence.feature << '\n';
    }
}

// One line of text whatever the question holds.
std::string in_one_line(std::string_view text) {
    std::string out(text);
    std::replace_if(
        out.begin(), out.end(), [](char c) { return c >= 0 && c < ' '; }, ' ');
    return out;
}

void print_line(const RouteDecision& decision, std::string_view question, Console& console) {
    console.out << decision.class_id << "  " << base::printable(decision.class_name) << "  "
                << fixed(100.0 * static_cast<double>(decision.confidence), 1) << " %  by "
                << routed_by_name(decision.by) << "  " << in_one_line(question) << '\n';
}

// One line in, one line out, in order; a line that is no question gives a line that says so, and the
// rest goes on. Empty lines and other fields of a line are not looked at.
Status route_file(const Router& router, const std::string& path, bool as_json_lines, Console& console) {
    CLASP_ASSIGN_OR_RETURN(const std::string text, base::read_file(path, request::kMaxFileBytes));
    std::size_t number = 0;
    std::size_t n_lines = 0;
    std::size_t n_bad = 0;
    std::string first_error;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string_view line = std::string_view(text).substr(at, end - at);
        at = end + 1;
        ++number;
        if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        ++n_lines;
        const auto json = base::parse_json(line, {.max_bytes = request::kMaxFileBytes});
        const std::string* const question = json.ok() ? (*json)["text"].as_string() : nullptr;
        if (question == nullptr) {
            const std::string error =
                "line " + std::to_string(number) + ": not a JSON object with a \"text\"";
            if (n_bad++ == 0) first_error = error;
            if (as_json_lines) {
                write_json(console, {{"error", {{"code", code_name(Code::Corrupt)}, {"message", error}}},
                                     {"line", number}});
            } else {
                console.out << "error  " << error << '\n';
            }
            continue;
        }
        const RouteDecision decision = router.route(*question);
        if (as_json_lines) {
            write_json_line(console, route_json(decision, router));
        } else {
            print_line(decision, *question, console);
        }
    }
    if (n_bad == 0) return ok_status();
    return {Code::Corrupt, path + ": " + std::to_string(n_bad) + " of " + std::to_string(n_lines) +
                               " lines could not be routed, the first: " + first_error};
}

Status run(const Arguments& arguments, Console& console) {
    if (arguments.is_given("data")) return run_route_train(arguments, console);
    CLASP_ASSIGN_OR_RETURN(RouterOptions options, read_router_options(arguments, console));
    if (arguments.is_given("threshold"))
        options.threshold = static_cast<float>(arguments.number("threshold"));
    CLASP_ASSIGN_OR_RETURN(const Router router, Router::create(options));
    const bool json = arguments.flag("json");
    if (const auto path = arguments.text_if("file")) return route_file(router, *path, json, console);
    const std::string& question = arguments.positional("QUESTION").front();
    if (arguments.flag("explain")) {
        explain(router, question, json, console);
    } else if (json) {
        write_json(console, route_json(router.route(question), router));
    } else {
        print(router.route(question), console);
    }
    return ok_status();
}

}  // namespace

Command route_command() {
    Command command = {
        .name = "route",
        .summary = "Tell which class a question belongs to, and train the classifier behind it",
        .positionals = {{"QUESTION", "the question, or the word 'train' together with --data", 0, 1}},
        .options =
            {
                {.name = "file",
                 .type = OptionType::File,
                 .value = "Q.jsonl",
                 .help = "route every line of a JSON Lines file by its \"text\", one result line each"},
                {.name = "threshold",
                 .type = OptionType::Number,
                 .value = "P",
                 .help = "least confidence that is acted on (default: chosen at training)",
                 .min = 0,
                 .max = 1},
                {.name = "explain",
                 .help = "show which rule or which features decided",
                 .group = OptionGroup::Output},
                {.name = "data",
                 .type = OptionType::File,
                 .value = "FILE.jsonl",
                 .help = "train: labelled questions with \"text\" and \"category\" or \"intent\"",
                 .is_repeatable = true},
                {.name = "out",
                 .type = OptionType::File,
                 .value = "FILE",
                 .help = "train: where the classifier goes",
                 .writes = Writes::File},
                {.name = "report",
                 .type = OptionType::Choice,
                 .value = "WHAT",
                 .help = "train: measure on a random held-out part, on each benchmark left out, or both",
                 .choices = {"random", "left-out", "all"}},
                {.name = "confusion",
                 .type = OptionType::File,
                 .value = "FILE.svg",
                 .help = "train: draw the confusion matrix of the random part",
                 .group = OptionGroup::Output,
                 .writes = Writes::File},
                {.name = "without",
                 .type = OptionType::Text,
                 .value = "BENCHMARK",
                 .help = "train: leave the lines of this benchmark out altogether",
                 .is_repeatable = true},
                {.name = "seed",
                 .type = OptionType::Integer,
                 .value = "N",
                 .fallback = "1",
                 .help = "train: order of the questions and choice of hidden features",
                 .min = 0,
                 .max = 1e9},
            },
        .notes = "Training: clasp-vlm route train --data FILE.jsonl --out FILE [--report all]",
        .examples = {"clasp-vlm route \"How many cups are on the table?\"",
                     "clasp-vlm route \"What does the sign say?\" --explain"},
        .check = check,
        .run = run,
    };
    const std::vector<Option> more = request::options_of(request::Scope::Router);
    command.options.insert(command.options.begin() + 1, more.begin(), more.end());
    command.options.push_back(request::option_named("threads"));
    return command;
}

}  // namespace clasp::cli
