#include "cli/option.h"

#include <array>
#include <utility>

namespace clasp::cli {

char short_name_of(std::string_view name) {
    // A letter never means two options of one command; a test looks.
    constexpr std::array<std::pair<char, std::string_view>, 17> kLetters = {{{'m', "model"},
                                                                             {'M', "mmproj"},
                                                                             {'b', "budget"},
                                                                             {'b', "budgets"},
                                                                             {'p', "policy"},
                                                                             {'c', "class"},
                                                                             {'n', "max-tokens"},
                                                                             {'s', "seed"},
                                                                             {'t', "threads"},
                                                                             {'d', "data"},
                                                                             {'f', "file"},
                                                                             {'l', "limit"},
                                                                             {'q', "question"},
                                                                             {'o', "out"},
                                                                             {'j', "json"},
                                                                             {'h', "help"},
                                                                             {'V', "version"}}};
    for (const auto& [letter, option] : kLetters) {
        if (option == name) return letter;
    }
    return 0;
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
