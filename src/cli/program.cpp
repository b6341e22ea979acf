#include <algorithm>
#include <array>
#include <exception>
#include <new>
#include <ostream>

#include "base/suggest.h"
#include "base/text.h"
#include "clasp/version.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/interrupt.h"
#include "cli/man_page.h"
#include "cli/output.h"
#include "cli/output_path.h"
#include "cli/safe_stream.h"

namespace clasp::cli {

namespace {

constexpr int kSuccess = 0;
constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;
constexpr int kSignalBase = 128;

// Whether one of the words before "--" is a flag that every command has, by its name or its letter ("-j",
// "-jh").
bool has_flag(std::span<const std::string_view> words, std::string_view name, char letter) {
    constexpr std::string_view kLetters = "jhV";
    const auto end_of_options = std::find(words.begin(), words.end(), "--");
    return std::any_of(words.begin(), end_of_options, [&](std::string_view word) {
        const bool is_letters = word.size() > 1 && word[0] == '-' &&
                                word.find_first_not_of(kLetters, 1) == std::string_view::npos;
        return word == name || (is_letters && word.find(letter) != std::string_view::npos);
    });
}

bool wants_json(std::span<const std::string_view> words) {
    return has_flag(words, "--json", 'j');
}

// One line for people; with --json also one object, so that a reader of standard output always gets one.
void report(Console& console, std::string_view where, const Status& status, std::string_view hint,
            bool as_json) {
    console.err << where << ": " << base::printable(status.message()) << hint << std::endl;
    if (!as_json || console.has_result) return;
    write_json(console, {{"error", {{"code", code_name(status.code())}, {"message", status.message()}}}});
    console.out.flush();
}

int usage_failure(Console& console, const std::string& where, const Status& status, bool as_json) {
    report(console, where, status, "; see '" + where + " --help'", as_json);
    return kWrongUsage;
}

int no_such_command(Console& console, std::string_view name, bool as_json) {
    std::vector<std::string_view> names = {"help"};
    for (const Command& command : commands()) names.push_back(command.name);
    const Status status(Code::InvalidArgument, "there is no command " + base::in_quotes(name) +
                                                   base::did_you_mean(name, names) + "; there are " +
                                                   base::join(names));
    return usage_failure(console, "clasp-vlm", status, as_json);
}

const Command* find_command(std::string_view name) {
    for (const Command& command : commands()) {
        if (command.name == name) return &command;
    }
    return nullptr;
}

int run_version(std::span<const std::string_view> words, Console& console) {
    if (wants_json(words)) {
        write_json(console, {{"name", "clasp-vlm"}, {"version", CLASP_VERSION_STRING}});
    } else {
        console.out << "clasp-vlm " << CLASP_VERSION_STRING << '\n';
    }
    return kSuccess;
}

// Of what takes no more words.
int unexpected_word(Console& console, const std::string& where, std::string_view word, bool as_json) {
    const Status status(Code::InvalidArgument, "unexpected argument " + base::in_quotes(word));
    return usage_failure(console, where, status, as_json);
}

int run_help(std::span<const std::string_view> words, Console& console) {
    const std::string_view word = words.empty() ? "help" : words[0];
    if (words.size() > 1)
        return unexpected_word(console, "clasp-vlm help", words[1], wants_json(words.subspan(1)));
    if (word == "help" || word == "--help" || word == "-h") {
        console.out << program_help();
    } else if (word == "--json" || word == "-j") {
        console.out << table_as_json();
    } else if (word == "--markdown") {
        console.out << table_as_markdown();
    } else if (word == "--man") {
        console.out << table_as_man_page();
    } else if (word.starts_with("-")) {
        constexpr std::array<std::string_view, 3> kForms = {"--json", "--markdown", "--man"};
        const Status status(Code::InvalidArgument, "unknown option " + base::printable(word, 64) +
                                                       base::did_you_mean(word, kForms) +
                                                       "; help takes the name of a command, --json, "
                                                       "--markdown or --man");
        return usage_failure(console, "clasp-vlm help", status, wants_json(words));
    } else {
        const Command* command = find_command(word);
        if (command == nullptr) return no_such_command(console, word, wants_json(words));
        console.out << command_help(*command);
    }
    return kSuccess;
}

// "-" for standard input: once, and not where somebody would have to type a picture.
Status check_stdin(const Command& command, const Arguments& arguments, const Console& console) {
    std::size_t n = 0;
    for (const Positional& positional : command.positionals) {
        if (!positional.takes_stdin) continue;
        const std::vector<std::string>& words = arguments.positional(positional.name);
        n += static_cast<std::size_t>(std::count(words.begin(), words.end(), "-"));
    }
    if (n > 1) {
        return {Code::InvalidArgument, "'-' means standard input, which can be read once, and it was given " +
                                           std::to_string(n) + " times"};
    }
    if (n == 1 && console.in_is_terminal) {
        return {Code::InvalidArgument,
                "'-' reads a picture from standard input, which is a terminal; send one through a pipe"};
    }
    return ok_status();
}

Status check_arguments(const Command& command, std::span<const Option> options, const Arguments& arguments,
                       const Console& console) {
    CLASP_RETURN_IF_ERROR(check_stdin(command, arguments, console));
    if (command.check != nullptr) CLASP_RETURN_IF_ERROR(command.check(arguments));
    return check_output_paths(options, arguments);
}

bool is_wrong_usage(const Status& status) {
    return status.code() == Code::InvalidArgument || status.code() == Code::NotFound;
}

// Exceptions are others': the standard library's and those of libraries that throw.
template <typename Work>
Status guarded(Work work) {
    try {
        return work();
    } catch (const std::bad_alloc&) {
        return {Code::OutOfMemory, "not enough memory"};
    } catch (const std::exception& error) {
        return {Code::Internal, std::string("unexpected error: ") + error.what()};
    }
}

Status not_written() {
    return {Code::Unavailable, "could not write the result to standard output"};
}

int run_command(const Command& command, std::span<const std::string_view> words, Console& console) {
    if (has_flag(words, "--help", 'h')) {
        console.out << command_help(command);
        return kSuccess;
    }
    if (has_flag(words, "--version", 'V')) return run_version(words, console);
    const std::string where = "clasp-vlm " + std::string(command.name);
    const bool as_json = wants_json(words);
    const std::vector<Option> options = full_options(command);
    const auto arguments = Arguments::parse(options, command.positionals, words);
    if (!arguments) return usage_failure(console, where, arguments.status(), as_json);
    Status status = guarded([&] { return check_arguments(command, options, *arguments, console); });
    if (!status.ok() && is_wrong_usage(status)) return usage_failure(console, where, status, as_json);
    if (status.ok()) status = guarded([&] { return command.run(*arguments, console); });
    console.out.flush();
    if (status.ok() && !console.out) status = not_written();
    if (status.ok()) return kSuccess;
    report(console, where, status, "", as_json);
    const bool was_interrupted = status.code() == Code::Cancelled && interrupt_signal() != 0;
    return was_interrupted ? kSignalBase + interrupt_signal() : kFailed;
}

int dispatch(std::span<const std::string_view> words, Console& console) {
    if (words.empty()) {
        console.err << program_help();
        return kWrongUsage;
    }
    const std::string_view name = words[0];
    const auto rest = words.subspan(1);
    if (name == "--version" || name == "-V" || name == "version") {
        for (const std::string_view word : rest) {
            if (word != "--json" && word != "-j")
                return unexpected_word(console, "clasp-vlm", word, wants_json(words));
        }
        return run_version(words, console);
    }
    if (name == "help" || name == "--help" || name == "-h") return run_help(rest, console);
    if (const Command* command = find_command(name)) return run_command(*command, rest, console);
    const bool as_json = wants_json(words);
    if (name.starts_with("-")) {
        const Status status(Code::InvalidArgument,
                            "options follow a command, and " + base::in_quotes(name) + " comes before one");
        return usage_failure(console, "clasp-vlm", status, as_json);
    }
    return no_such_command(console, name, as_json);
}

}  // namespace

LogSink Console::log_sink() const {
    return [&err = err](LogLevel level, std::string_view message) {
        if (level >= LogLevel::Warning) {
            err << (level == LogLevel::Error ? "error: " : "warning: ") << base::printable(message)
                << std::endl;
        }
    };
}

std::vector<Option> full_options(const Command& command) {
    std::vector<Option> options = command.options;
    options.push_back({.name = "json",
                       .help = "print one JSON object on standard output and nothing else there",
                       .group = OptionGroup::Output});
    options.push_back({.name = "help", .help = "explain this command", .group = OptionGroup::Output});
    options.push_back({.name = "version", .help = "print the version", .group = OptionGroup::Output});
    for (Option& option : options) option.short_name = short_name_of(option.name);
    return options;
}

int run_program(std::span<const std::string_view> words, Console& console) {
    SafeStream err(console.err);
    err << std::unitbuf;
    SafeStream out(console.out);
    // JSON escapes what it must by itself and may not be changed.
    const bool as_json = wants_json(words);
    Console safe{.out = as_json ? console.out : out,
                 .err = err,
                 .err_is_terminal = console.err_is_terminal,
                 .out_is_terminal = console.out_is_terminal,
                 .in = console.in,
                 .in_is_terminal = console.in_is_terminal,
                 .raw_out = &console.out,
                 .raw_err = &console.err};
    const int code = dispatch(words, safe);
    safe.out.flush();
    if (code != kSuccess || safe.out) return code;
    // Pages of help and the version have no command that would have noticed.
    report(safe, "clasp-vlm", not_written(), "", false);
    return kFailed;
}

}  // namespace clasp::cli
