// What an option is: the command line's arguments, the keys of a JSON request and the options of the C header
// are described by the same data, from which range checks, --help and the reference page come.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace clasp::request {

enum class OptionType : std::uint8_t {
    Flag,     // present or not, takes no value
    Integer,  // whole number within [min, max]
    Number,   // decimal number within [min, max]
    Choice,   // one of `choices`
    Text,     // anything; whoever reads it gives it meaning
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
    char short_name = 0;                            // "-m"; the command line fills it in
};

}  // namespace clasp::request
