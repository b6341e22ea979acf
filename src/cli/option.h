// The option table of the command line: every option of every command is described once, as data. The
// parser, the range checks, --help, `help --json` and the reference page all come from that description;
// those of a request come from request/option_table.h.
#pragma once

#include <string_view>
#include <vector>

#include "request/option.h"

namespace clasp::cli {

using request::Option;
using request::OptionGroup;
using request::OptionType;
using request::Writes;

struct Positional {
    std::string_view name;  // as help shows it: "IMAGE"
    std::string_view help;
    std::size_t min_count = 1;
    std::size_t max_count = 1;
    std::vector<std::string_view> choices = {};  // empty: any word
    bool takes_stdin = false;                    // "-" means standard input, once
};

// The letter of an option, the same in every command; 0 for those that have none.
char short_name_of(std::string_view name);

std::string_view type_name(OptionType type);
std::string_view group_name(OptionGroup group);

}  // namespace clasp::cli
