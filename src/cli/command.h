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
struct Console {
    std::ostream& out;
    std::ostream& err;
    bool err_is_terminal = false;

    [[nodiscard]] LogSink log_sink() const;
};

struct Command {
    std::string_view name;
    std::string_view summary;  // one line, for the list of commands
    std::vector<Positional> positionals = {};
    std::vector<Option> options = {};  // --json and --help are added to every command
    std::string_view notes = {};       // shown below the options in --help
    // Options that do not go together; a failure is wrong usage. May be null.
    Status (*check)(const Arguments& arguments) = nullptr;
    Status (*run)(const Arguments& arguments, Console& console) = nullptr;
};

// All commands, in the order help lists them.
std::span<const Command> commands();

// The command's own options followed by those every command has.
std::vector<Option> full_options(const Command& command);

// Runs the program. Returns the exit code: 0 success, 1 failed, 2 wrong usage.
int run_program(std::span<const std::string_view> words, Console& console);

}  // namespace clasp::cli
