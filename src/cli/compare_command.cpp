// clasp-vlm compare: one question under several methods, side by side.
#include <algorithm>
#include <array>
#include <cmath>
#include <iomanip>
#include <ostream>
#include <string>
#include <vector>

#include "base/text.h"
#include "clasp/engine.h"
#include "cli/ask_options.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/map_file.h"
#include "cli/output.h"
#include "cli/picture_file.h"
#include "cli/pictures.h"
#include "methods/method.h"
#include "request/answer_json.h"
#include "request/option_table.h"

namespace clasp::cli {

namespace {

// What a method gave, or why it gave nothing.
struct Row {
    std::string label;
    Answer answer;
    Status error = ok_status();
    bool same_answer = false;
    bool same_first_token = false;
    double logit_cosine = 0.0;
};

Status check(const Arguments& arguments) {
    CLASP_RETURN_IF_ERROR(read_vision_model(arguments).status());
    CLASP_RETURN_IF_ERROR(
        check_pictures_and_question(arguments.positional("IMAGE"), arguments.positional("QUESTION").front()));
    CLASP_RETURN_IF_ERROR(read_method_list(arguments.text("methods")).status());
    if (const auto map = arguments.text_if("map")) {
        CLASP_RETURN_IF_ERROR(check_spares_pictures(*map, arguments.positional("IMAGE")));
    }
    const std::string& image = arguments.positional("IMAGE").front();
    if (arguments.is_given("map") && image != "-") {
        const std::array images = {ImageSource{.path = image, .bytes = {}}};
        CLASP_RETURN_IF_ERROR(check_comparison_map(images));
    }
    return check_request_options(arguments);
}

std::size_t top_token(const std::vector<float>& logits) {
    return static_cast<std::size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

double cosine(const std::vector<float>& a, const std::vector<float>& b) {
    double product = 0.0;
    double first = 0.0;
    double second = 0.0;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        product += static_cast<double>(a[i]) * static_cast<double>(b[i]);
        first += static_cast<double>(a[i]) * static_cast<double>(a[i]);
        second += static_cast<double>(b[i]) * static_cast<double>(b[i]);
    }
    return first > 0.0 && second > 0.0 ? product / std::sqrt(first * second) : 0.0;
}

Row run_method(const Engine& engine, AskRequest request, const std::string& method, const Answer& vanilla) {
    Row row;
    row.label = method;
    methods::MethodChoice choice = methods::split_method_choice(method);
    request.method = std::move(choice.name);
    for (std::string& option : choice.options) request.method_options.push_back(std::move(option));
    auto answer = engine.ask(request);
    if (!answer.ok()) {
        row.error = answer.status();
        return row;
    }
    row.answer = std::move(answer).value();
    row.label = row.answer.label;
    row.same_answer = row.answer.text == vanilla.text;
    row.same_first_token = top_token(row.answer.logits) == top_token(vanilla.logits);
    row.logit_cosine = cosine(row.answer.logits, vanilla.logits);
    return row;
}

Json row_json(const Row& row, const std::string& model_name) {
    if (!row.error.ok()) return {{"method", row.label}, {"error", row.error.message()}};
    Json json = request::answer_json(row.answer, model_name);
    json["agreement"] = {{"same_answer", row.same_answer},
                         {"same_first_token", row.same_first_token},
                         {"logit_cosine", row.logit_cosine}};
    return json;
}

void print_table(const Answer& vanilla, const std::vector<Row>& rows, Console& console) {
    std::size_t longest = 12;
    for (const Row& row : rows) longest = std::max(longest, row.label.size());
    const int width = static_cast<int>(longest) + 2;
    const auto line = [&console, width](const std::string& name, const Answer& answer,
                                        const std::string& agrees) {
        console.out << std::left << std::setw(width) << name << std::right << std::setw(8)
                    << answer.tokens.entering << std::setw(7) << answer.tokens.final << std::setw(9)
                    << fixed(answer.tokens.average, 1) << std::setw(11)
                    << fixed(answer.timings.first_token_ms, 0) << std::setw(8) << agrees << "  "
                    << base::printable(answer.text) << '\n';
    };
    console.out << std::left << std::setw(width) << "method" << std::right << std::setw(8) << "entering"
                << std::setw(7) << "final" << std::setw(9) << "average" << std::setw(11) << "first, ms"
                << std::setw(8) << "same"
                << "  answer\n";
    line("vanilla", vanilla, "");
    for (const Row& row : rows) {
        if (row.error.ok()) {
            line(row.label, row.answer, row.same_answer ? "yes" : "no");
        } else {
            console.out << std::left << std::setw(width) << row.label << "  "
                        << base::printable(row.error.message()) << '\n';
        }
    }
    for (const Row& row : rows) {
        for (const std::string& note : row.answer.notes) {
            const bool is_common = std::ranges::find(vanilla.notes, note) != vanilla.notes.end();
            if (!is_common) console.err << "note: " << row.label << ": " << note << '\n';
        }
    }
}

Status run(const Arguments& arguments, Console& console) {
    CLASP_ASSIGN_OR_RETURN(request::Settings settings, read_settings(arguments));
    CLASP_ASSIGN_OR_RETURN(const auto pictures, read_pictures(arguments.positional("IMAGE"), console));
    settings.request.images = pictures->sources;
    CLASP_ASSIGN_OR_RETURN(const request::ModelFiles files,
                           request::find_vision_model(settings, request::Caller::CommandLine));
    CLASP_ASSIGN_OR_RETURN(const std::vector<std::string> names, read_method_list(arguments.text("methods")));
    CLASP_ASSIGN_OR_RETURN(AskRequest request, read_request(settings));
    if (arguments.is_given("map")) CLASP_RETURN_IF_ERROR(check_comparison_map(request.images));
    request.question = arguments.positional("QUESTION").front();
    request.want_logits = true;
    request.cancel = &interrupted();
    EngineOptions options = read_engine_options(settings, files);
    options.cached_images = 0;  // every method pays for its own encoder
    options.log = console.log_sink();
    options.cancel = &interrupted();
    CLASP_ASSIGN_OR_RETURN(const auto engine, Engine::load(options));

    AskRequest plain = request;
    plain.vanilla = true;
    plain.want_pictures = arguments.is_given("map");
    plain.method.clear();
    plain.method_options.clear();
    plain.mass.reset();
    plain.forced_stages.clear();
    plain.schedule_name.clear();
    CLASP_ASSIGN_OR_RETURN(Answer vanilla, engine->ask(plain));
    std::vector<Row> rows;
    for (const std::string& name : names) {
        console.err << name << '\n';
        rows.push_back(run_method(*engine, request, name, vanilla));
        if (interrupted()) return {Code::Cancelled, "stopped"};
    }
    const auto has_failed = [](const Row& row) { return !row.error.ok(); };
    if (std::all_of(rows.begin(), rows.end(), has_failed)) return rows.front().error;
    if (arguments.flag("json")) {
        Json list = Json::array();
        for (const Row& row : rows) list.push_back(row_json(row, files.name));
        write_json(console, {{"question", request.question},
                             {"budget_kind", request.budget_kind},
                             {"vanilla", request::answer_json(vanilla, files.name)},
                             {"rows", list}});
    } else {
        print_table(vanilla, rows, console);
    }
    if (const auto path = arguments.text_if("map")) {
        vanilla.label = "vanilla";
        std::vector<Answer> answers = {vanilla};
        for (Row& row : rows) {
            if (row.error.ok()) answers.push_back(std::move(row.answer));
        }
        return write_comparison_map(*path, request.question, answers,
                                    files.name + "; each panel: what was left in the end, and the answer");
    }
    return ok_status();
}

}  // namespace

Command compare_command() {
    Command command = {
        .name = "compare",
        .summary = "Ask one question under several methods",
        .positionals = {{.name = "IMAGE",
                         .help = "a JPEG, PNG, WebP, GIF or BMP file, or - for standard input",
                         .takes_stdin = true},
                        {"QUESTION", "in plain words, after the image", 1, 1}},
        .notes =
            "A method that cannot meet the budget, or does not fit the model, says why in its row.\n"
            "Times are of single runs, one after the other: use bench for figures.",
        .check = check,
        .run = run,
    };
    const auto add = [&command](const std::vector<Option>& more) {
        command.options.insert(command.options.end(), more.begin(), more.end());
    };
    Option max_tokens = request::option_named("max-tokens");
    max_tokens.fallback = "64";
    add({{.name = "methods",
          .type = OptionType::Text,
          .value = "A,B,C",
          .fallback = "all",
          .help = "names that 'clasp-vlm methods' lists, each with options if wanted (fastv:faithful=paper), "
                  "or all"},
         max_tokens});
    add(request::options_of(request::Scope::Model));
    std::vector<Option> asking = request::options_of(request::Scope::Asking);
    std::erase_if(asking, [](const Option& option) {
        // It runs several, and vanilla; nothing follows.
        return option.name == "method" || option.name == "vanilla" || option.name == "history";
    });
    add(asking);
    add(request::options_of(request::Scope::Engine));
    add({map_option("draw the maps of all methods in one picture")});
    return command;
}

}  // namespace clasp::cli
