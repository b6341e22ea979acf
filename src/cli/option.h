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

// What an option's path is written to: checked before any work begins.
enum class Writes : std::uint8_t { Nothing, File, Folder };

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
    Writes writes = Writes::Nothing;
    std::vector<std::string_view> extensions = {};  // that a path must end with; empty: any
    char short_name = 0;                            // "-m"; full_options() fills it in
};

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

// --threads, the same for every command that computes; results never depend on it.
Option threads_option();

std::string_view type_name(OptionType type);
std::string_view group_name(OptionGroup group);

}  // namespace clasp::cli
