#include <algorithm>
#include <sstream>

#include "cli/command.h"
#include "cli/completion.h"
#include "cli/known_values.h"

namespace clasp::cli {

namespace {

// Inside single quotes of a specification: quotes end and begin again, what _arguments reads is escaped.
std::string escaped(std::string_view text, std::string_view special) {
    std::string out;
    for (const char c : text) {
        if (c == '\'') {
            out += "'\\''";
            continue;
        }
        if (special.find(c) != std::string_view::npos) out += '\\';
        out += c;
    }
    return out;
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
}

// The part of a specification that finds values.
std::string action(const KnownValues& values) {
    const std::string names = joined(values.names);
    if (values.is_list) return "{_values -s , name " + names + "}";
    const std::string path = values.takes_file ? "_files" : values.takes_folder ? "_files -/" : "";
    if (names.empty()) return path.empty() ? " " : path;
    if (path.empty()) return "(" + names + ")";
    return "{_alternative \"names:name:(" + names + ")\" \"paths:path:" + path + "\"}";
}

std::string specification(const Option& option) {
    const std::string help = "[" + escaped(option.help, "[]:\\") + "]";
    const bool is_flag = option.type == OptionType::Flag;
    std::string value;
    if (!is_flag) value = ":" + escaped(option.value, ":\\") + ":" + action(known_values(option));
    const std::string star = option.is_repeatable ? "*" : "";
    const std::string name = "--" + std::string(option.name) + (is_flag ? "" : "=");
    if (option.short_name == 0) return "'" + star + name + help + value + "'";
    const std::string letter = std::string("-") + option.short_name;
    const std::string either =
        option.is_repeatable ? "'*'" : "'(" + letter + " --" + std::string(option.name) + ")'";
    return either + "{" + letter + (is_flag ? "" : "+") + "," + name + "}'" + help + value + "'";
}

void write_command(std::ostringstream& out, const Command& command) {
    out << "        " << command.name << ")\n            _arguments -s -S";
    for (const Option& option : full_options(command))
        out << " \\\n                " << specification(option);
    const bool repeats = std::any_of(command.positionals.begin(), command.positionals.end(),
                                     [](const Positional& positional) { return positional.max_count > 1; });
    for (const Positional& positional : command.positionals) {
        // Words of any number come first in a line but last in a specification: a place without anything to
        // offer would take the first of them.
        if (repeats && known_values(command, positional).is_empty()) continue;
        const bool is_optional = positional.min_count == 0;
        out << " \\\n                '" << (positional.max_count > 1 ? "*" : "") << (is_optional ? "::" : ":")
            << escaped(positional.name, ":\\") << ":" << action(known_values(command, positional)) << "'";
    }
    out << "\n            ;;\n";
}

}  // namespace

std::string zsh_completion() {
    std::ostringstream out;
    out << "#compdef clasp-vlm\n# Completion of clasp-vlm for zsh; made by 'clasp-vlm completion zsh'.\n\n"
        << "_clasp_vlm() {\n    local -a commands\n    commands=(\n"
        << "        'help:this page, or all about one command'\n        'version:print the version'\n";
    for (const Command& command : commands()) {
        out << "        '" << command.name << ":" << escaped(command.summary, ":\\") << "'\n";
    }
    out << "    )\n    if (( CURRENT == 2 )); then\n        _describe -t commands command commands\n"
        << "        return\n    fi\n    local name=$words[2]\n    shift words\n    (( CURRENT-- ))\n"
        << "    case $name in\n        help) _describe -t commands command commands ;;\n";
    for (const Command& command : commands()) write_command(out, command);
    // Loaded by compinit as a function of its own name, or sourced.
    out << "    esac\n}\n\nif [[ $funcstack[1] == _clasp-vlm || $funcstack[1] == _clasp_vlm ]]; then\n"
        << "    _clasp_vlm \"$@\"\nelse\n    compdef _clasp_vlm clasp-vlm\nfi\n";
    return out.str();
}

}  // namespace clasp::cli
