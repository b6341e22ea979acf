// What may stand for a value, as far as the program knows: for the completions of shells.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace clasp::cli {

struct KnownValues {
    std::vector<std::string> names = {};  // words without blanks
    bool takes_file = false;
    bool takes_folder = false;
    bool is_list = false;  // several names with commas between

    [[nodiscard]] bool is_empty() const { return names.empty() && !takes_file && !takes_folder; }
};

KnownValues known_values(const Option& option);
KnownValues known_values(const Command& command, const Positional& positional);

}  // namespace clasp::cli
