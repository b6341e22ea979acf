#include "cli/option.h"

namespace clasp::cli {

Option threads_option() {
    return {.name = "threads",
            .type = OptionType::Integer,
            .value = "N",
            .fallback = "0",
            .help = "threads, 0 for one per hardware thread; the result is the same",
            .group = OptionGroup::Performance,
            .min = 0,
            .max = 512};
}

std::string_view type_name(OptionType type) {
    switch (type) {
        case OptionType::Flag: return "flag";
        case OptionType::Integer: return "integer";
        case OptionType::Number: return "number";
        case OptionType::Choice: return "choice";
        case OptionType::Text: return "text";
        case OptionType::File: return "file";
    }
    return "text";
}

std::string_view group_name(OptionGroup group) {
    switch (group) {
        case OptionGroup::Behaviour: return "behaviour";
        case OptionGroup::Performance: return "performance";
        case OptionGroup::Output: return "output";
    }
    return "behaviour";
}

}  // namespace clasp::cli
