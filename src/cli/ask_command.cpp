// clasp-vlm ask: a question about one or more images.
#include <array>
#include <ostream>
#include <string>

#include "base/npy.h"
#include "clasp/engine.h"
#include "cli/answer_json.h"
#include "cli/ask_options.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/map_file.h"
#include "cli/model_files.h"
#include "cli/output.h"
#include "cli/router_options.h"

namespace clasp::cli {

namespace {

constexpr std::size_t kMaxImages = 16;

Status check(const Arguments& arguments) {
    CLASP_RETURN_IF_ERROR(check_model_options(arguments));
    CLASP_RETURN_IF_ERROR(check_router_options(arguments));
    if (arguments.is_given("class")) {
        for (const char* other : {"router", "taxonomy", "classifier"}) {
            if (!arguments.is_given(other)) continue;
            return {Code::InvalidArgument,
                    "--class skips the router; --" + std::string(other) + " has no effect with it"};
        }
    }
    if (arguments.is_given("map") && arguments.positional("IMAGE").size() > 1) {
        return {Code::InvalidArgument, "--map draws one image, and " +
                                           std::to_string(arguments.positional("IMAGE").size()) +
                                           " were given"};
    }
    return check_request_options(arguments);
}

// One line of figures for people who watch; the JSON has all of them.
void print_summary(const Answer& answer, Console& console) {
    console.err << answer.chosen_class.name << " (" << answer.chosen_class.by << "): " << answer.tokens.visual
                << " visual tokens, " << fixed(answer.tokens.average, 1) << " per layer, "
                << answer.tokens.final << " at the end; first token after "
                << fixed(answer.timings.first_token, 0) << " ms, total " << fixed(answer.timings.total, 0)
                << " ms\n";
}

Status run(const Arguments& arguments, Console& console) {
    CLASP_ASSIGN_OR_RETURN(const ModelFiles files, find_model_files(arguments));
    CLASP_ASSIGN_OR_RETURN(AskRequest request, read_request(arguments));
    for (const std::string& path : arguments.positional("IMAGE")) request.images.push_back({path, {}});
    request.question = arguments.positional("QUESTION").front();
    request.generation.max_tokens = static_cast<std::size_t>(arguments.integer("max-tokens"));
    request.generation.temperature = arguments.number("temperature");
    request.generation.top_p = arguments.number("top-p");
    request.generation.seed = static_cast<std::uint32_t>(arguments.integer("seed"));
    request.want_logits = arguments.is_given("dump-logits");
    request.cancel = &interrupted();
    const bool as_json = arguments.flag("json");
    if (!as_json) {
        request.on_text = [&console](std::string_view text) { console.out << text << std::flush; };
    }

    EngineOptions options = read_engine_options(arguments);
    options.model = files.model;
    options.mmproj = files.mmproj;
    options.cache_dir = arguments.text_if("cache").value_or("");
    options.cached_images = 0;
    options.log = console.log_sink();
    CLASP_ASSIGN_OR_RETURN(options.router, read_router_options(arguments, console));
    CLASP_ASSIGN_OR_RETURN(const auto engine, Engine::load(options));
    CLASP_ASSIGN_OR_RETURN(const Answer answer, engine->ask(request));

    if (as_json) {
        write_json(console, answer_json(answer, files.name));
    } else {
        console.out << '\n' << std::flush;
        for (const std::string& note : answer.notes) console.err << "note: " << note << '\n';
        print_summary(answer, console);
    }
    if (const auto path = arguments.text_if("dump-logits")) {
        const std::array<std::size_t, 1> shape = {answer.logits.size()};
        CLASP_RETURN_IF_ERROR(base::write_npy(*path, shape, answer.logits));
    }
    if (const auto path = arguments.text_if("map")) {
        return write_token_map(*path, request.images.front().path, request.question, answer, files.name);
    }
    return ok_status();
}

}  // namespace

Command ask_command() {
    Command command = {
        .name = "ask",
        .summary = "Ask a question about images",
        .positionals = {{"IMAGE", "a JPEG, PNG, WebP, GIF or BMP file", 1, kMaxImages},
                        {"QUESTION", "in plain words", 1, 1}},
        .notes =
            "The answer goes to standard output, figures and notes to standard error. Ctrl-C stops cleanly.",
        .check = check,
        .run = run,
    };
    const auto add = [&command](std::vector<Option> more) {
        command.options.insert(command.options.end(), more.begin(), more.end());
    };
    add(model_options());
    add(request_options());
    add(router_options());
    add({
        {.name = "max-tokens",
         .type = OptionType::Integer,
         .value = "N",
         .fallback = "256",
         .help = "longest answer",
         .min = 1,
         .max = 1 << 20},
        {.name = "temperature",
         .type = OptionType::Number,
         .value = "T",
         .fallback = "0",
         .help = "0 takes the most likely token; higher values vary",
         .min = 0,
         .max = 100},
        {.name = "top-p",
         .type = OptionType::Number,
         .value = "P",
         .fallback = "1",
         .help = "probability mass that sampling draws from",
         .min = 0.000001,
         .max = 1},
        {.name = "seed",
         .type = OptionType::Integer,
         .value = "S",
         .fallback = "0",
         .help = "seed of sampling",
         .min = 0,
         .max = 4294967295.0},
        {.name = "cache",
         .type = OptionType::File,
         .value = "DIR",
         .help = "folder that keeps vision layers, so that another question about an image skips the encoder",
         .group = OptionGroup::Performance},
    });
    add(engine_options());
    add({
        {.name = "map",
         .type = OptionType::File,
         .value = "FILE.png",
         .help = "draw the image with the tokens kept at each stage",
         .group = OptionGroup::Output},
        {.name = "dump-logits",
         .type = OptionType::File,
         .value = "FILE.npy",
         .help = "write the logits of the first generated position",
         .group = OptionGroup::Output},
    });
    return command;
}

}  // namespace clasp::cli
