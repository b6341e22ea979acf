// Help from one table: for the terminal, as JSON, and as the Markdown reference page. The manual page and
// the completions of shells are made from the same table (man_page.h, completion.h).
#pragma once

#include <string>

#include "cli/command.h"

namespace clasp::cli {

std::string program_help();
std::string command_help(const Command& command);
std::string table_as_json();
std::string table_as_markdown();

// "clasp-vlm ask IMAGE... QUESTION [options]".
std::string usage_line(const Command& command);
// "-b, --budget N", and the same without the letter.
std::string option_left(const Option& option);
// Help, choices and default in one sentence.
std::string option_right(const Option& option);
// What to try first: command lines and what they do.
struct Example {
    std::string_view line;
    std::string_view what;
};
std::span<const Example> first_examples();

}  // namespace clasp::cli
