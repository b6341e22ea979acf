// clasp-vlm ask: a question about images, or in text alone.
#include <algorithm>
#include <array>
#include <ostream>
#include <string>

#include "base/npy.h"
#include "base/text.h"
#include "clasp/engine.h"
#include "cli/ask_options.h"
#include "cli/ask_progress.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/map_file.h"
#include "cli/output.h"
#include "cli/output_path.h"
#include "cli/picture_file.h"
#include "cli/pictures.h"
#include "cli/router_options.h"
#include "request/answer_json.h"
#include "request/conflicts.h"
#include "request/model_files.h"
#include "request/option_table.h"

namespace clasp::cli {

namespace {

constexpr std::size_t kMaxPictures = 16;
constexpr std::size_t kMaxImages = 768;  // that are the frames of a clip

using request::Caller;

// A question without a picture needs no vision file, and options about pictures say nothing about it.
Status check_text_only(const Arguments& arguments, const request::Settings& settings) {
    CLASP_RETURN_IF_ERROR(request::check_text_only(settings, Caller::CommandLine));
    if (arguments.is_given("map")) {
        return {Code::InvalidArgument, "--map draws what was kept of a picture, and none was given"};
    }
    return request::find_model_files(settings, Caller::CommandLine).status();
}

// All pictures as the frames of one clip.
std::vector<ImageSource> as_clip(const std::vector<ImageSource>& sources) {
    ImageSource clip;
    for (const ImageSource& source : sources) clip.frames.push_back(source.path);
    return {clip};
}

// Of pictures that are files: what comes through standard input is not there yet.
Status check_map(const Arguments& arguments) {
    const auto map = arguments.text_if("map");
    if (!map) return ok_status();
    CLASP_RETURN_IF_ERROR(check_spares_pictures(*map, arguments.positional("IMAGE")));
    std::vector<ImageSource> images;
    for (const std::string& word : arguments.positional("IMAGE")) {
        if (word == "-") return ok_status();
        images.push_back({.path = word, .bytes = {}});
    }
    return check_token_map(*map, arguments.flag("as-clip") ? as_clip(images) : images);
}

Status check(const Arguments& arguments) {
    CLASP_ASSIGN_OR_RETURN(const request::Settings settings, read_settings(arguments));
    const std::vector<std::string>& images = arguments.positional("IMAGE");
    CLASP_RETURN_IF_ERROR(check_pictures_and_question(images, arguments.positional("QUESTION").front()));
    if (images.empty()) {
        CLASP_RETURN_IF_ERROR(check_text_only(arguments, settings));
    } else {
        CLASP_RETURN_IF_ERROR(request::find_vision_model(settings, Caller::CommandLine).status());
    }
    if (!settings.engine.cache_dir.empty()) {
        CLASP_RETURN_IF_ERROR(check_output_folder(request::option_named("cache"), settings.engine.cache_dir));
    }
    const bool is_clip = arguments.flag("as-clip");
    if (!is_clip && images.size() > kMaxPictures) {
        return {Code::InvalidArgument, "at most " + std::to_string(kMaxPictures) +
                                           " images go with a question, and " +
                                           std::to_string(images.size()) + " were given"};
    }
    if (is_clip && (images.empty() || std::find(images.begin(), images.end(), "-") != images.end())) {
        return {Code::InvalidArgument,
                "--as-clip takes the files of pictures, which are the frames of a clip"};
    }
    CLASP_RETURN_IF_ERROR(check_map(arguments));
    return check_request_options(arguments);
}

Json cache_json(const Answer& answer) {
    if (!answer.cache_hit) return nullptr;
    return *answer.cache_hit ? "hit" : "miss";
}

// Whether the text before the picture was there.
bool has_prefix(const Answer& answer) {
    return answer.history.n_tokens > 0;
}

void print_cache(const Answer& answer, Console& console) {
    console.err << "cache: "
                << (!answer.cache_hit   ? "not used, because the method merges tokens inside the encoder"
                    : *answer.cache_hit ? "hit, the encoder was skipped"
                                        : "miss, the encoder ran")
                << "; text before the picture: " << (has_prefix(answer) ? "hit" : "miss") << '\n';
}

// One line of figures for people who watch; the JSON has all of them.
void print_summary(const Answer& answer, Console& console) {
    if (answer.tokens.visual == 0) {
        console.err << "text only: " << answer.tokens.text << " tokens; first token after "
                    << fixed(answer.timings.first_token_ms, 0) << " ms, total "
                    << fixed(answer.timings.total_ms, 0) << " ms\n";
        return;
    }
    console.err << answer.chosen_class.name << " (" << answer.chosen_class.by << "), "
                << (answer.label == "none" ? "nothing pruned" : answer.label) << ": " << answer.tokens.visual
                << " visual tokens, " << fixed(answer.tokens.average, 1) << " per layer, "
                << answer.tokens.final << " at the end; first token after "
                << fixed(answer.timings.first_token_ms, 0) << " ms, total "
                << fixed(answer.timings.total_ms, 0) << " ms\n";
}

// What is written beside the answer.
Status write_files(const Arguments& arguments, const AskRequest& request, const Answer& answer,
                   const std::string& model_name) {
    if (const auto path = arguments.text_if("dump-logits")) {
        const std::array<std::size_t, 1> shape = {answer.logits.size()};
        CLASP_RETURN_IF_ERROR(base::write_npy(*path, shape, answer.logits));
    }
    if (const auto path = arguments.text_if("map")) {
        return write_token_map(*path, request.question, answer, model_name);
    }
    return ok_status();
}

void print_answer(const Arguments& arguments, const Answer& answer, const std::string& model_name,
                  Console& console) {
    if (arguments.flag("json")) {
        Json json = request::answer_json(answer, model_name);
        json["cache"] = cache_json(answer);
        const bool keeps = arguments.is_given("cache") && answer.tokens.visual > 0;
        json["cache_prefix"] = keeps ? Json(has_prefix(answer) ? "hit" : "miss") : Json(nullptr);
        write_json(console, json);
        console.out << std::flush;  // what follows may take a while
    } else {
        console.answers() << '\n' << std::flush;
        for (const std::string& note : answer.notes) console.err << "note: " << base::printable(note) << '\n';
        if (arguments.is_given("cache")) print_cache(answer, console);
        print_summary(answer, console);
        console.err << std::flush;
    }
}

Status answer_question(const Arguments& arguments, const Engine& engine, const AskRequest& request,
                       const std::string& model_name, AskProgress& progress, Console& console) {
    CLASP_ASSIGN_OR_RETURN(const Answer answer, engine.ask(request));
    progress.clear();
    print_answer(arguments, answer, model_name, console);
    CLASP_RETURN_IF_ERROR(write_files(arguments, request, answer, model_name));
    if (answer.stopped == Stopped::Cancelled)
        return {Code::Cancelled, "stopped before the answer was complete"};
    return ok_status();
}

Status run(const Arguments& arguments, Console& console) {
    CLASP_ASSIGN_OR_RETURN(request::Settings settings, read_settings(arguments));
    CLASP_ASSIGN_OR_RETURN(const auto pictures, read_pictures(arguments.positional("IMAGE"), console));
    settings.request.images = arguments.flag("as-clip") ? as_clip(pictures->sources) : pictures->sources;
    CLASP_ASSIGN_OR_RETURN(const request::ModelFiles files,
                           request::find_model_files(settings, Caller::CommandLine));
    CLASP_ASSIGN_OR_RETURN(AskRequest request, read_request(settings));
    if (const auto map = arguments.text_if("map")) {
        CLASP_RETURN_IF_ERROR(check_token_map(*map, request.images));
    }
    request.question = arguments.positional("QUESTION").front();
    request.want_logits = arguments.is_given("dump-logits");
    request.want_pictures = arguments.is_given("map");
    request.cancel = &interrupted();
    const bool as_json = arguments.flag("json");
    AskProgress progress(console);
    request.on_progress = progress.sink();
    request.on_text = [&](std::string_view text) {
        progress.clear();
        if (!as_json) console.answers() << text << std::flush;
    };

    EngineOptions options = read_engine_options(settings, files);
    options.cached_images = 0;
    options.log = progress.log_sink();
    options.on_progress = progress.sink();
    options.cancel = &interrupted();
    CLASP_ASSIGN_OR_RETURN(options.router, read_router_options(arguments, console));
    CLASP_ASSIGN_OR_RETURN(const auto engine, Engine::load(options));
    return progress.finish_keeping(
        *engine, answer_question(arguments, *engine, request, files.name, progress, console));
}

}  // namespace

Command ask_command() {
    Command command = {
        .name = "ask",
        .summary = "Ask a question about images, or in text alone",
        .positionals =
            {{.name = "IMAGE",
              .help = "a JPEG, PNG, WebP, GIF or BMP file, or - for standard input; a clip: an MP4, MOV, "
                      "WebM, MKV or AVI file, an animated GIF, WebP or PNG picture, or a folder of frames; "
                      "without one the question is in text alone, and --model FILE needs no --mmproj",
              .min_count = 0,
              .max_count = kMaxImages,
              .takes_stdin = true},
             {"QUESTION", "in plain words, after the images", 1, 1}},
        .notes =
            "The answer goes to standard output, figures and notes to standard error. Ctrl-C stops cleanly.",
        .examples =
            {"clasp-vlm ask photo.jpg \"How many cups are on the table?\" -m llava.gguf -M mmproj.gguf",
             "clasp-vlm ask \"What is the capital of France?\" -m text.gguf",
             "clasp-vlm ask photo.jpg \"What does the sign say?\" -b 64 --map kept.png",
             "clasp-vlm ask clip.mp4 \"What does the man do?\" -m qwen.gguf -M mmproj.gguf -b 25%",
             "clasp-vlm ask examples/pictures/crosses.png \"How many yellow crosses are in the picture?\""},
        .check = check,
        .run = run,
    };
    const auto add = [&command](std::vector<Option> more) {
        command.options.insert(command.options.end(), more.begin(), more.end());
    };
    add(request::options_of(request::Scope::Model));
    add(request::options_of(request::Scope::Asking));
    add(request::options_of(request::Scope::Router));
    add(request::options_of(request::Scope::Generation));
    add(request::options_of(request::Scope::Time));
    add({request::option_named("cache"), request::option_named("cache-size")});
    add(request::options_of(request::Scope::Engine));
    add({
        {.name = "as-clip",
         .help =
             "the pictures are the frames of one clip, in their order, taken at --fps a second (default: 2)"},
        map_option("draw the images with the tokens kept at each stage; of a clip a contact sheet of its "
                   "frames, or an animation as .webp",
                   true),
        {.name = "dump-logits",
         .type = OptionType::File,
         .value = "FILE.npy",
         .help = "write the logits of the first generated position",
         .group = OptionGroup::Output,
         .writes = Writes::File},
    });
    return command;
}

}  // namespace clasp::cli
