#include <sstream>

#include "cli/command.h"
#include "cli/completion.h"
#include "cli/known_values.h"

namespace clasp::cli {

namespace {

std::string quoted(std::string_view text) {
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'' || c == '\\') out += '\\';
        out += c;
    }
    return out + "'";
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
}

// How values are found: -F allows files, -f forbids them.
std::string finds(const KnownValues& values) {
    std::string text = values.takes_file || values.takes_folder ? " -F" : " -f";
    if (values.takes_folder && !values.takes_file) text = " -f -a '(__fish_complete_directories)'";
    if (!values.names.empty()) text += " -a " + quoted(joined(values.names));
    return text;
}

void write_command(std::ostringstream& out, const Command& command) {
    const std::string start =
        "complete -c clasp-vlm -n '__fish_seen_subcommand_from " + std::string(command.name) + "'";
    for (const Option& option : full_options(command)) {
        out << start << " -l " << option.name;
        if (option.short_name != 0) out << " -s " << option.short_name;
        if (option.type != OptionType::Flag) out << " -r" << finds(known_values(option));
        out << " -d " << quoted(option.help) << '\n';
    }
    for (const Positional& positional : command.positionals) {
        const KnownValues values = known_values(command, positional);
        if (!values.is_empty()) out << start << finds(values) << '\n';
    }
}

}  // namespace

std::string fish_completion() {
    std::ostringstream out;
    out << "# Completion of clasp-vlm for fish; made by 'clasp-vlm completion fish'.\n"
        << "complete -c clasp-vlm -f\n"
        << "complete -c clasp-vlm -n __fish_use_subcommand -l help -s h -d 'what there is'\n"
        << "complete -c clasp-vlm -n __fish_use_subcommand -l version -s V -d 'print the version'\n"
        << "complete -c clasp-vlm -n __fish_use_subcommand -a help -d 'all about one command'\n";
    std::string names;
    for (const Command& command : commands()) {
        names += (names.empty() ? "" : " ") + std::string(command.name);
        out << "complete -c clasp-vlm -n __fish_use_subcommand -a " << command.name << " -d "
            << quoted(command.summary) << '\n';
    }
    out << "complete -c clasp-vlm -n '__fish_seen_subcommand_from help' -a " << quoted(names) << '\n';
    for (const Command& command : commands()) write_command(out, command);
    return out.str();
}

}  // namespace clasp::cli
