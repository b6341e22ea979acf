// A command is a name, a table of options and a function. Adding one is adding a file that defines
// it and one line in registry.cpp.
#pragma once

#include <functional>
#include <iosfwd>
#include <span>
#include <string_view>
#include <vector>

#include "clasp/log.h"
#include "clasp/status.h"
#include "cli/arguments.h"
#include "cli/option.h"

namespace clasp::cli {

// Where a command writes. Results go to out (with --json one object and nothing else), progress and
// messages to err. Streams are passed in so that tests can run commands in process.
//
// While a command runs, err, and out without --json, escape whatever could command a terminal
// (safe_stream.h).
struct Console {
    std::ostream& out;
    std::ostream& err;
    bool err_is_terminal = false;
    bool out_is_terminal = false;
    std::istream* in = nullptr;  // standard input, if there is one
    bool in_is_terminal = false;
    // The streams behind out and err, for lines that redraw themselves and for answers as the model gave
    // them; null: out and err themselves.
    std::ostream* raw_out = nullptr;
    std::ostream* raw_err = nullptr;
    bool has_result = false;  // the JSON object of the result was written

    [[nodiscard]] LogSink log_sink() const;
    // For control characters of the program's own.
    [[nodiscard]] std::ostream& terminal() const { return raw_err != nullptr ? *raw_err : err; }
    // For what a model says: as it is to a file or pipe, escaped to a terminal.
    [[nodiscard]] std::ostream& answers() const {
        return raw_out != nullptr && !out_is_terminal ? *raw_out : out;
    }
};

struct Command {
    std::string_view name;
    std::string_view summary;  // one line, for the list of commands
    std::vector<Positional> positionals = {};
    std::vector<Option> options = {};             // --json, --help and --version are added to every command
    std::string_view notes = {};                  // shown below the options in --help
    std::vector<std::string_view> examples = {};  // whole command lines
    // Values that do not go together or that cannot be: what can be told before any work. A failure with
    // invalid_argument or not_found is wrong usage. May be null.
    Status (*check)(const Arguments& arguments) = nullptr;
    Status (*run)(const Arguments& arguments, Console& console) = nullptr;
};

// All commands, in the order help lists them.
std::span<const Command> commands();

// The command's own options followed by those every command has, each with its letter.
std::vector<Option> full_options(const Command& command);

// Runs the program. Returns the exit code: 0 success, 1 failed, 2 wrong usage, 128 plus the number of a
// signal that stopped it (130 after Ctrl-C).
int run_program(std::span<const std::string_view> words, Console& console);

}  // namespace clasp::cli
