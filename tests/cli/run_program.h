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

inline Outcome run(const std::vector<std::string>& words) {
    std::ostringstream out;
    std::ostringstream err;
    Console console{out, err};
    const std::vector<std::string_view> views(words.begin(), words.end());
    const int code = run_program(views, console);
    return {code, out.str(), err.str()};
}

}  // namespace clasp::cli
