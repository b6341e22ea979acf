// Runs a command in this process, as the program would.
#pragma once

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace clasp::cli {

struct Outcome {
    int code = 0;
    std::string out;
    std::string err;
};

// Where the program would run: on a terminal or not, with something on standard input or not.
struct Surroundings {
    bool on_terminal = false;  // standard output and error
    std::string input = {};
    bool input_is_terminal = false;
};

inline Outcome run(const std::vector<std::string>& words, const Surroundings& around = {}) {
    std::ostringstream out;
    std::ostringstream err;
    std::istringstream in(around.input);
    Console console{.out = out,
                    .err = err,
                    .err_is_terminal = around.on_terminal,
                    .out_is_terminal = around.on_terminal,
                    .in = &in,
                    .in_is_terminal = around.input_is_terminal};
    const std::vector<std::string_view> views(words.begin(), words.end());
    const int code = run_program(views, console);
    return {code, out.str(), err.str()};
}

}  // namespace clasp::cli
