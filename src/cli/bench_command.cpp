// clasp-vlm bench: the same request under several budgets, interleaved in one process.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iomanip>
#include <string>
#include <vector>

#include "base/text.h"
#include "clasp/engine.h"
#include "cli/ask_options.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/pictures.h"
#include "request/answer_json.h"
#include "request/option_table.h"
#include "request/question_text.h"

namespace clasp::cli {

namespace {

struct Row {
    std::string budget;
    std::string label;  // what ran, masses included
    std::vector<std::string> notes;
    AskTimings median;
    TokenCounts tokens;
    double ratio = 1.0;  // first token without pruning over first token here
};

double median(std::vector<double> values) {
    const std::size_t middle = values.size() / 2;
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle), values.end());
    if (values.size() % 2 == 1) return values[middle];
    const double above = values[middle];
    return (above + *std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle))) /
           2.0;
}

AskTimings medians(const std::vector<AskTimings>& runs) {
    AskTimings result;
    for (double AskTimings::*field :
         {&AskTimings::route_ms, &AskTimings::image_ms, &AskTimings::encode_ms, &AskTimings::fuse_ms,
          &AskTimings::project_ms, &AskTimings::gram_ms, &AskTimings::select_ms, &AskTimings::prefill_ms,
          &AskTimings::first_token_ms, &AskTimings::decode_ms, &AskTimings::total_ms}) {
        std::vector<double> values;
        for (const AskTimings& run : runs) values.push_back(run.*field);
        result.*field = median(std::move(values));
    }
    return result;
}

// A BMP of 640 x 480 pixels with smooth colours and some squares: timings do not depend on what a picture
// shows, so that none has to be at hand.
std::string test_picture() {
    constexpr std::uint32_t kWidth = 640;
    constexpr std::uint32_t kHeight = 480;
    constexpr std::uint32_t kHeader = 54;
    std::string bmp = "BM";
    const auto put = [&bmp](std::uint32_t value, int n_bytes) {
        for (int i = 0; i < n_bytes; ++i) bmp.push_back(static_cast<char>((value >> (8 * i)) & 0xffU));
    };
    put(kHeader + kWidth * kHeight * 3, 4);
    put(0, 4);
    put(kHeader, 4);
    put(40, 4);
    put(kWidth, 4);
    put(kHeight, 4);
    put(1, 2);
    put(24, 2);
    for (int i = 0; i < 6; ++i) put(0, 4);
    for (std::uint32_t y = 0; y < kHeight; ++y) {
        for (std::uint32_t x = 0; x < kWidth; ++x) {
            const bool in_square = (x / 80 + y / 80) % 3 == 0 && x % 80 < 40 && y % 80 < 40;
            put(in_square ? 30 : x * 255 / kWidth, 1);
            put(in_square ? 200 : y * 255 / kHeight, 1);
            put(in_square ? 220 : 128, 1);
        }
    }
    return bmp;
}

// The request of one budget: "none" is the original model.
Result<AskRequest> request_for(const Arguments& arguments, std::string_view budget,
                               const ImageSource& image) {
    CLASP_ASSIGN_OR_RETURN(AskRequest request, read_request(arguments));
    CLASP_ASSIGN_OR_RETURN(request.budget, parse_budget(budget));
    request.vanilla = request.budget.kind == BudgetSpec::Kind::None;
    request.images = {image};
    request.question = arguments.text("question");
    request.generation.max_tokens = static_cast<std::size_t>(arguments.integer("generate"));
    request.cancel = &interrupted();
    return request;
}

Status check(const Arguments& arguments) {
    CLASP_RETURN_IF_ERROR(read_vision_model(arguments).status());
    CLASP_RETURN_IF_ERROR(request::check_question(arguments.text("question")));
    const std::string budgets = arguments.text("budgets");
    for (const std::string_view budget : base::split(budgets, ','))
        CLASP_RETURN_IF_ERROR(parse_budget(budget).status());
    return check_request_options(arguments);
}

void print(const std::vector<Row>& rows, Console& console) {
    std::size_t longest = std::string_view("method").size();
    for (const Row& row : rows) longest = std::max(longest, row.label.size());
    const int width = static_cast<int>(longest) + 2;
    console.out
        << std::left << std::setw(width) << "method"
        << "budget  average  final   encode  prefill   select  first token  decode    (ms, median)  ratio\n";
    for (const Row& row : rows) {
        console.out << std::left << std::setw(width) << row.label << std::setw(8) << row.budget << std::right
                    << std::setw(7) << fixed(row.tokens.average, 1) << std::setw(7) << row.tokens.final
                    << std::setw(9) << fixed(row.median.encode_ms, 1) << std::setw(9)
                    << fixed(row.median.prefill_ms, 1) << std::setw(9) << fixed(row.median.select_ms, 2)
                    << std::setw(13) << fixed(row.median.first_token_ms, 1) << std::setw(8)
                    << fixed(row.median.decode_ms, 1) << std::setw(23)
                    << (std::isnan(row.ratio) ? "-" : fixed(row.ratio, 2)) << '\n';
    }
    for (const Row& row : rows) {
        for (const std::string& note : row.notes)
            console.err << "note: " << row.budget << ": " << base::printable(note) << '\n';
    }
}

Status run(const Arguments& arguments, Console& console) {
    CLASP_ASSIGN_OR_RETURN(const request::ModelFiles files, read_vision_model(arguments));
    const std::string named = arguments.text("budgets");
    const std::vector<std::string_view> budgets = base::split(named, ',');
    const std::string drawn = test_picture();
    const auto path = arguments.text_if("image");
    if (path) CLASP_RETURN_IF_ERROR(check_picture(*path));
    const ImageSource image = path ? ImageSource{*path, {}} : ImageSource{{}, drawn};
    std::vector<AskRequest> requests;
    for (const std::string_view budget : budgets) {
        CLASP_ASSIGN_OR_RETURN(AskRequest request, request_for(arguments, budget, image));
        requests.push_back(std::move(request));
    }
    CLASP_ASSIGN_OR_RETURN(const request::Settings settings, read_settings(arguments));
    EngineOptions options = read_engine_options(settings, files);
    options.cached_images = 0;  // every run encodes
    options.log = console.log_sink();
    options.cancel = &interrupted();
    CLASP_ASSIGN_OR_RETURN(const auto engine, Engine::load(options));

    const auto repeats = static_cast<std::size_t>(arguments.integer("repeats"));
    std::vector<std::vector<AskTimings>> runs(budgets.size());
    std::vector<Row> rows(budgets.size());
    for (std::size_t round = 0; round <= repeats; ++round) {  // round 0 warms up
        for (std::size_t i = 0; i < budgets.size(); ++i) {
            if (console.err_is_terminal) {
                console.terminal() << "\rround " << round << " of " << repeats << ", budget " << budgets[i]
                                   << "   " << std::flush;
            }
            CLASP_ASSIGN_OR_RETURN(const Answer answer, engine->ask(requests[i]));
            if (answer.stopped == Stopped::Cancelled) return {Code::Cancelled, "stopped"};
            if (round > 0) runs[i].push_back(answer.timings);
            rows[i].tokens = answer.tokens;
            rows[i].label = answer.label;
            rows[i].notes = answer.notes;
        }
    }
    if (console.err_is_terminal) console.terminal() << "\r\x1b[K" << std::flush;
    double unpruned = 0.0;
    for (std::size_t i = 0; i < budgets.size(); ++i) {
        rows[i].budget = budgets[i];
        rows[i].median = medians(runs[i]);
        if (requests[i].vanilla) unpruned = rows[i].median.first_token_ms;
    }
    for (Row& row : rows) row.ratio = unpruned > 0.0 ? unpruned / row.median.first_token_ms : std::nan("");
    if (!arguments.flag("json")) {
        print(rows, console);
        return ok_status();
    }
    Json list = Json::array();
    for (const Row& row : rows) {
        list.push_back({{"budget", row.budget},
                        {"label", row.label},
                        {"notes", row.notes},
                        {"timings_ms", request::timings_json(row.median)},
                        {"ratio", std::isnan(row.ratio) ? Json() : Json(row.ratio)},
                        {"tokens",
                         {{"visual", row.tokens.visual},
                          {"final", row.tokens.final},
                          {"average", row.tokens.average}}}});
    }
    write_json(console, {{"rows", list}, {"model", files.name}, {"repeats", repeats}});
    return ok_status();
}

}  // namespace

Command bench_command() {
    Command command = {
        .name = "bench",
        .summary = "Time the same question under several budgets",
        .notes =
            "Budgets take turns in one process after a warm-up round; figures are medians. The ratio is the "
            "time to\n"
            "the first token without pruning over that with it, so 3 means three times sooner.",
        .check = check,
        .run = run,
    };
    command.options = request::options_of(request::Scope::Model);
    for (Option& option : request::options_of(request::Scope::Asking)) {
        if (option.name != "budget" && option.name != "schedule" && option.name != "vanilla" &&
            option.name != "history")
            command.options.push_back(option);
    }
    command.options.insert(command.options.end(),
                           {
                               {.name = "budgets",
                                .type = OptionType::Text,
                                .value = "LIST",
                                .fallback = "none,192,128,64",
                                .help = "budgets to compare, separated by commas"},
                               {.name = "image",
                                .type = OptionType::File,
                                .value = "FILE",
                                .help = "picture to ask about (default: one drawn on the spot)"},
                               {.name = "question",
                                .type = OptionType::Text,
                                .value = "TEXT",
                                .fallback = "What is in this picture?",
                                .help = "what to ask"},
                               {.name = "generate",
                                .type = OptionType::Integer,
                                .value = "N",
                                .fallback = "8",
                                .help = "longest answer in tokens",
                                .min = 1,
                                .max = 4096},
                               {.name = "repeats",
                                .type = OptionType::Integer,
                                .value = "N",
                                .fallback = "3",
                                .help = "measured rounds",
                                .min = 1,
                                .max = 1000},
                           });
    for (Option& option : request::options_of(request::Scope::Engine)) command.options.push_back(option);
    return command;
}

}  // namespace clasp::cli
