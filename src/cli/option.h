// The option table: every option of every command is described once, here as data. The parser, the
// range checks, --help, `help --json` and the reference page all come from that description.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace clasp::cli {

enum class OptionType : std::uint8_t {
    Flag,     // present or not, takes no value
    Integer,  // whole number within [min, max]
    Number,   // decimal number within [min, max]
    Choice,   // one of `choices`
    Text,     // anything; the command gives it meaning
    File,     // a path
};

// What an option changes: the result, how fast it comes, or only what is printed.
enum class OptionGroup : std::uint8_t { Behaviour, Performance, Output };

struct Option {
    std::string_view name = {};  // without the leading dashes
    OptionType type = OptionType::Flag;
    std::string_view value = {};     // how help names the value: "N", "FILE"
    std::string_view fallback = {};  // the default as text; empty means there is none
    std::string_view help = {};      // one sentence without a full stop, with the unit where there is one
    OptionGroup group = OptionGroup::Behaviour;
    double min = -std::numeric_limits<double>::infinity();
    double max = std::numeric_limits<double>::infinity();
    std::vector<std::string_view> choices = {};
    bool is_required = false;
    bool is_repeatable = false;
};

struct Positional {
    std::string_view name;  // as help shows it: "IMAGE"
    std::string_view help;
    std::size_t min_count = 1;
    std::size_t max_count = 1;
};

// --threads, the same for every command that computes; results never depend on it.
Option threads_option();

std::string_view type_name(OptionType type);
std::string_view group_name(OptionGroup group);

}  // namespace clasp::cli
