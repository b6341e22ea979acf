// clasp-vlm chat: a conversation in the terminal, or one answer for each line of standard input.
#include <algorithm>
#include <cstdint>
#include <istream>
#include <ostream>
#include <string>

#include "base/text.h"
#include "clasp/conversation.h"
#include "clasp/engine.h"
#include "cli/ask_options.h"
#include "cli/ask_progress.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
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

// What a line that begins with a slash asks for.
enum class Word : std::uint8_t { Question, Image, Reset, Undo, Quit, Help, Unknown };

struct Line {
    Word word = Word::Question;
    std::string rest;  // the question, or what follows the word
};

std::string_view without_blanks(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

Line read_words(std::string_view text) {
    text = without_blanks(text);
    if (!text.starts_with('/')) return {Word::Question, std::string(text)};
    const std::size_t space = text.find_first_of(" \t");
    const std::string_view word = text.substr(0, space);
    const std::string rest(
        without_blanks(space == std::string_view::npos ? std::string_view() : text.substr(space)));
    if (word == "/image") return {Word::Image, rest};
    if (word == "/reset") return {Word::Reset, rest};
    if (word == "/undo") return {Word::Undo, rest};
    if (word == "/quit" || word == "/exit") return {Word::Quit, rest};
    return {word == "/help" ? Word::Help : Word::Unknown, std::string(word)};
}

std::string in_one_line(std::string_view text) {
    std::string line(text);
    std::replace_if(
        line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    return line;
}

class Chat {
   public:
    Chat(const Engine& engine, AskRequest settings, const std::string& system, bool as_json,
         std::string model, Console& console)
        : conversation_(engine, system),
          n_kept_(system.empty() ? 0U : 1U),
          settings_(std::move(settings)),
          as_json_(as_json),
          model_(std::move(model)),
          console_(console) {}

    void show_next(std::vector<ImageSource> images) { next_images_ = std::move(images); }

    // False: it is over.
    Result<bool> take(const std::string& text) {
        const Line line = read_words(text);
        switch (line.word) {
            case Word::Quit: return false;
            case Word::Help: console_.err << kHelp; return true;
            case Word::Reset:
                conversation_.cut_back(n_kept_);
                next_images_.clear();
                return true;
            case Word::Undo:
                if (conversation_.messages().size() >= n_kept_ + 2) {
                    conversation_.cut_back(conversation_.messages().size() - 2);
                }
                return true;
            case Word::Image:
                if (line.rest.empty()) {
                    console_.err << "/image takes the path of a picture\n";
                } else {
                    next_images_.push_back({.path = line.rest, .bytes = {}});
                }
                return true;
            case Word::Unknown:
                console_.err << "there is no " << base::printable(line.rest, 64) << "; " << kHelp;
                return true;
            case Word::Question: break;
        }
        if (line.rest.empty()) return true;
        CLASP_RETURN_IF_ERROR(ask(line.rest));
        return true;
    }

    static constexpr std::string_view kHelp =
        "/image FILE shows a picture with the next question, /undo forgets the last question, /reset all of "
        "them, /quit ends\n";

   private:
    Status ask(const std::string& question) {
        AskRequest request = settings_;
        request.question = question;
        request.images = next_images_;
        request.cancel = &interrupted();
        AskProgress progress(console_);
        request.on_progress = progress.sink();
        request.on_text = [&](std::string_view text) {
            progress.clear();
            if (!as_json_)
                console_.answers() << (console_.in_is_terminal ? std::string(text) : in_one_line(text))
                                   << std::flush;
        };
        const auto answer = conversation_.ask(request);
        progress.clear();
        if (!answer.ok()) return answer.status();
        next_images_.clear();
        if (as_json_) {
            write_json_line(console_, request::answer_json(*answer, model_));
            console_.out << std::flush;
        } else {
            console_.answers() << '\n' << std::flush;
            for (const std::string& note : answer->notes)
                console_.err << "note: " << base::printable(note) << '\n';
        }
        return answer->stopped == Stopped::Cancelled ? Status(Code::Cancelled, "stopped") : ok_status();
    }

    Conversation conversation_;
    std::size_t n_kept_;  // messages that a reset leaves
    AskRequest settings_;
    bool as_json_;
    std::string model_;
    Console& console_;
    std::vector<ImageSource> next_images_;
};

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

Status talk(Chat& chat, Console& console) {
    if (console.in == nullptr)
        return {Code::Unavailable, "there is no standard input to read questions from"};
    const bool is_person = console.in_is_terminal;
    if (is_person) console.err << Chat::kHelp;
    std::string line;
    for (;;) {
        if (is_person) console.err << "> " << std::flush;
        CLASP_ASSIGN_OR_RETURN(const bool has_line, next_line(*console.in, line));
        if (!has_line) return ok_status();
        const auto goes_on = chat.take(line);
        if (goes_on.ok() && !*goes_on) return ok_status();
        if (goes_on.ok()) continue;
        // A person can say it better; a program has to hear of it.
        if (!is_person || interrupted()) return goes_on.status();
        console.err << base::printable(goes_on.status().message()) << '\n';
    }
}

Status run(const Arguments& arguments, Console& console) {
    CLASP_ASSIGN_OR_RETURN(const request::Settings settings, read_settings(arguments));
    CLASP_ASSIGN_OR_RETURN(const request::ModelFiles files,
                           request::find_model_files(settings, Caller::CommandLine));
    CLASP_ASSIGN_OR_RETURN(const AskRequest request, read_request(arguments));
    EngineOptions options = read_engine_options(settings, files);
    AskProgress progress(console);
    options.log = console.log_sink();
    options.on_progress = progress.sink();
    options.cancel = &interrupted();
    CLASP_ASSIGN_OR_RETURN(options.router, read_router_options(arguments, console));
    CLASP_ASSIGN_OR_RETURN(const auto engine, Engine::load(options));
    progress.clear();
    Chat chat(*engine, request, arguments.text_if("system").value_or(""), arguments.flag("json"), files.name,
              console);
    std::vector<ImageSource> images;
    for (const std::string& path : arguments.positional("IMAGE"))
        images.push_back({.path = path, .bytes = {}});
    chat.show_next(std::move(images));
    return talk(chat, console);
}

}  // namespace

Command chat_command() {
    Command command = {
        .name = "chat",
        .summary = "Talk about images, or in text alone",
        .positionals = {{.name = "IMAGE",
                         .help = "shown with the first question: a JPEG, PNG, WebP, GIF or BMP file",
                         .min_count = 0,
                         .max_count = kMaxImages}},
        .notes =
            "Every line of standard input is a question, every answer a line of standard output, its own "
            "line "
            "breaks as blanks unless a person types; with --json an object in a line. Lines that begin with "
            "a slash are for the program: /image FILE, /undo, /reset, "
            "/quit. Each question chooses its visual tokens anew, and no picture is encoded twice.",
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
    add({request::option_named("cache")});
    Option cached_images = request::option_named("cached-images");
    cached_images.fallback = "4";
    add({cached_images});
    add(request::options_of(request::Scope::Engine));
    return command;
}

}  // namespace clasp::cli
