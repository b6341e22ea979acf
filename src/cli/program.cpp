#include <algorithm>
#include <exception>
#include <new>
#include <ostream>

#include "clasp/version.h"
#include "cli/command.h"
#include "cli/help.h"

namespace clasp::cli {

namespace {

constexpr int kSuccess = 0;
constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

int usage_failure(Console& console, std::string_view where, const Status& status) {
    console.err << where << ": " << status.message() << " (see '" << where << " --help')\n";
    return kWrongUsage;
}

int run_help(std::span<const std::string_view> words, Console& console) {
    if (words.empty()) {
        console.out << program_help();
    } else if (words[0] == "--json") {
        console.out << table_as_json();
    } else if (words[0] == "--markdown") {
        console.out << table_as_markdown();
    } else {
        for (const Command& command : commands()) {
            if (command.name != words[0]) continue;
            console.out << command_help(command);
            return kSuccess;
        }
        console.err << "clasp-vlm help: there is no command '" << words[0] << "'\n";
        return kWrongUsage;
    }
    return kSuccess;
}

int run_command(const Command& command, std::span<const std::string_view> words, Console& console) {
    const auto end_of_options = std::find(words.begin(), words.end(), "--");
    if (std::find(words.begin(), end_of_options, "--help") != end_of_options) {
        console.out << command_help(command);
        return kSuccess;
    }
    const std::string where = "clasp-vlm " + std::string(command.name);
    const std::vector<Option> options = full_options(command);
    const auto arguments = Arguments::parse(options, command.positionals, words);
    if (!arguments) return usage_failure(console, where, arguments.status());
    if (command.check != nullptr) {
        const Status together = command.check(*arguments);
        if (!together.ok()) return usage_failure(console, where, together);
    }
    Status status;
    try {
        status = command.run(*arguments, console);
    } catch (const std::bad_alloc&) {
        status = {Code::OutOfMemory, "not enough memory"};
    } catch (const std::exception& error) {
        status = {Code::Internal, std::string("unexpected error: ") + error.what()};
    }
    console.out.flush();
    if (status.ok() && !console.out) status = {Code::Unavailable, "could not write the result"};
    if (status.ok()) return kSuccess;
    console.err << where << ": " << status.message() << '\n';
    return kFailed;
}

}  // namespace

LogSink Console::log_sink() const {
    return [&err = err](LogLevel level, std::string_view message) {
        if (level >= LogLevel::Warning)
            err << (level == LogLevel::Error ? "error: " : "warning: ") << message << '\n';
    };
}

std::vector<Option> full_options(const Command& command) {
    std::vector<Option> options = command.options;
    options.push_back({.name = "json",
                       .help = "print one JSON object on standard output and nothing else there",
                       .group = OptionGroup::Output});
    options.push_back({.name = "help", .help = "explain this command", .group = OptionGroup::Output});
    return options;
}

int run_program(std::span<const std::string_view> words, Console& console) {
    if (words.empty()) {
        console.err << program_help();
        return kWrongUsage;
    }
    const std::string_view name = words[0];
    if (name == "--version") {
        console.out << "clasp-vlm " << CLASP_VERSION_STRING << '\n';
        return kSuccess;
    }
    if (name == "help" || name == "--help") return run_help(words.subspan(1), console);
    for (const Command& command : commands()) {
        if (command.name == name) return run_command(command, words.subspan(1), console);
    }
    console.err << "clasp-vlm: there is no command '" << name << "' (see 'clasp-vlm help')\n";
    return kWrongUsage;
}

}  // namespace clasp::cli
