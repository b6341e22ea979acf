// Help in three forms from one table: for the terminal, as JSON, and as the Markdown reference page.
#pragma once

#include <string>

#include "cli/command.h"

namespace clasp::cli {

std::string program_help();
std::string command_help(const Command& command);
std::string table_as_json();
std::string table_as_markdown();

}  // namespace clasp::cli
