// clasp-vlm chat: a conversation in the terminal, or one answer for each line of standard input.
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <iostream>
#include <string>

#include "base/text.h"
#include "clasp/engine.h"
#include "cli/ask_options.h"
#include "cli/ask_progress.h"
#include "cli/chat_line.h"
#include "cli/chat_session.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/line_editor.h"
#include "cli/output.h"
#include "cli/output_path.h"
#include "cli/picture_file.h"
#include "cli/pictures.h"
#include "cli/router_options.h"
#include "request/conflicts.h"
#include "request/model_files.h"
#include "request/option_table.h"

namespace clasp::cli {

namespace {

using request::Caller;

constexpr std::size_t kMaxImages = 16;
constexpr std::size_t kMaxLineBytes = std::size_t{1} << 20U;

Status check(const Arguments& arguments) {
    CLASP_ASSIGN_OR_RETURN(const request::Settings settings, read_settings(arguments));
    if (arguments.positional("IMAGE").empty()) {
        CLASP_RETURN_IF_ERROR(request::find_model_files(settings, Caller::CommandLine).status());
    } else {
        CLASP_RETURN_IF_ERROR(request::find_vision_model(settings, Caller::CommandLine).status());
    }
    if (!settings.engine.cache_dir.empty()) {
        CLASP_RETURN_IF_ERROR(check_output_folder(request::option_named("cache"), settings.engine.cache_dir));
    }
    return check_request_options(arguments);
}

// One line without its end; false at the end of the input. Error: too_large.
Result<bool> next_line(std::istream& in, std::string& line) {
    line.clear();
    for (int c = in.get(); c != std::istream::traits_type::eof(); c = in.get()) {
        if (c == '\n') return true;
        if (line.size() == kMaxLineBytes) {
            return Status(Code::TooLarge, "a line of standard input has more than the limit of " +
                                              std::to_string(kMaxLineBytes) + " bytes");
        }
        line += static_cast<char>(c);
    }
    return !line.empty();
}

bool is_file(const std::string& path) {
    std::error_code error;
    return std::filesystem::is_regular_file(path, error);
}

// A program talks: a line is a question, and the first that cannot be answered ends it.
Status talk_with_program(ChatSession& session, Console& console) {
    std::string line;
    for (;;) {
        CLASP_ASSIGN_OR_RETURN(const bool has_line, next_line(*console.in, line));
        if (!has_line) return ok_status();
        CLASP_ASSIGN_OR_RETURN(const bool goes_on,
                               session.take(read_chat_line(line, [](const std::string&) { return false; })));
        if (!goes_on) return ok_status();
    }
}

// What a person types: edited on a terminal, else as it comes.
class PersonsLines {
   public:
    explicit PersonsLines(Console& console)
        : console_(console),
          is_edited_(console.in == &std::cin && console.err_is_terminal && isatty(STDIN_FILENO) == 1),
          editor_(STDIN_FILENO, console.terminal()) {}

    Result<LineEditor::Read> next() {
        if (is_edited_) return editor_.read("> ");
        console_.err << "> " << std::flush;
        LineEditor::Read read;
        for (std::string line;;) {
            CLASP_ASSIGN_OR_RETURN(const bool has_line, next_line(*console_.in, line));
            if (!has_line && read.text.empty()) read.end = LineEditor::End::Input;
            const bool goes_on = has_line && line.ends_with('\\');
            if (goes_on) line.back() = '\n';
            read.text += line;
            if (!goes_on) return read;
        }
    }

   private:
    Console& console_;
    bool is_edited_;
    LineEditor editor_;
};

Status talk_with_person(ChatSession& session, Console& console) {
    console.err << chat_help();
    PersonsLines lines(console);
    for (;;) {
        CLASP_ASSIGN_OR_RETURN(const LineEditor::Read read, lines.next());
        if (read.end == LineEditor::End::Input) return ok_status();
        if (read.end == LineEditor::End::Interrupt) {
            console.err << "/quit or Ctrl-D ends\n";
            continue;
        }
        const auto goes_on = session.take(read_chat_line(read.text, is_file));
        if (goes_on.ok() && !*goes_on) return ok_status();
        if (goes_on.ok()) continue;
        // Ctrl-C stops an answer, not the conversation; other signals mean the program.
        if (interrupted() && interrupt_signal() != SIGINT) return goes_on.status();
        forget_interrupt();
        console.err << base::printable(goes_on.status().message()) << '\n';
    }
}

Status talk(ChatSession& session, Console& console) {
    if (console.in == nullptr)
        return {Code::Unavailable, "there is no standard input to read questions from"};
    return console.in_is_terminal ? talk_with_person(session, console) : talk_with_program(session, console);
}

Status run(const Arguments& arguments, Console& console) {
    CLASP_ASSIGN_OR_RETURN(const request::Settings settings, read_settings(arguments));
    CLASP_ASSIGN_OR_RETURN(const request::ModelFiles files,
                           request::find_model_files(settings, Caller::CommandLine));
    CLASP_ASSIGN_OR_RETURN(const AskRequest request, read_request(arguments));
    for (const std::string& path : arguments.positional("IMAGE")) CLASP_RETURN_IF_ERROR(check_picture(path));
    EngineOptions options = read_engine_options(settings, files);
    AskProgress progress(console);
    options.log = progress.log_sink();
    options.on_progress = progress.sink();
    options.cancel = &interrupted();
    CLASP_ASSIGN_OR_RETURN(options.router, read_router_options(arguments, console));
    CLASP_ASSIGN_OR_RETURN(const auto engine, Engine::load(options));
    progress.clear();
    ChatSession session(*engine,
                        {.request = request,
                         .system = arguments.text_if("system").value_or(""),
                         .model = files.name,
                         .as_json = arguments.flag("json")},
                        console, progress);
    std::vector<ImageSource> images;
    for (const std::string& path : arguments.positional("IMAGE"))
        images.push_back({.path = path, .bytes = {}});
    session.show_next(std::move(images));
    return progress.finish_keeping(*engine, talk(session, console));
}

}  // namespace

Command chat_command() {
    Command command = {
        .name = "chat",
        .summary = "Talk about images, or in text alone",
        .positionals = {{.name = "IMAGE",
                         .help = "shown with the first question: a picture (JPEG, PNG, WebP, GIF, BMP) or a "
                                 "clip (video file, animation, folder of frames)",
                         .min_count = 0,
                         .max_count = kMaxImages}},
        .notes =
            "Every line of standard input is a question, every answer a line of standard output, its own "
            "line "
            "breaks as blanks unless a person types; with --json an object in a line. Lines that begin with "
            "a slash are for the program: /image FILE, /budget N, /method NAME, /map [FILE], /save FILE, "
            "/undo, /reset, /quit; /help explains them. Each question chooses its visual tokens anew unless "
            "--history says otherwise, and no "
            "picture "
            "is encoded twice.",
        .examples = {"clasp-vlm chat photo.jpg -m llava.gguf -M mmproj.gguf",
                     "printf 'What is this?\\nWhat colour is it?\\n' | clasp-vlm chat photo.jpg"},
        .check = check,
        .run = run,
    };
    const auto add = [&command](std::vector<Option> more) {
        command.options.insert(command.options.end(), more.begin(), more.end());
    };
    add({{.name = "system",
          .type = OptionType::Text,
          .value = "TEXT",
          .help = "how to answer, before anything is said"}});
    add(request::options_of(request::Scope::Model));
    add(request::options_of(request::Scope::Asking));
    add(request::options_of(request::Scope::Router));
    add(request::options_of(request::Scope::Generation));
    add(request::options_of(request::Scope::Time));
    add({request::option_named("cache"), request::option_named("cache-size")});
    Option cached_images = request::option_named("cached-images");
    cached_images.fallback = "4";
    add({cached_images});
    Option history_cache = request::option_named("history-cache");
    history_cache.fallback = "1024";
    add({history_cache});
    add(request::options_of(request::Scope::Engine));
    return command;
}

}  // namespace clasp::cli
