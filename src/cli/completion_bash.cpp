#include <sstream>

#include "cli/command.h"
#include "cli/completion.h"
#include "cli/known_values.h"

namespace clasp::cli {

namespace {

constexpr std::string_view kHead = R"(# Completion of clasp-vlm for bash; made by 'clasp-vlm completion bash'.

_clasp_vlm_words() {
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$1" -- "$cur")
}

# Names with commas between: the last one is completed.
_clasp_vlm_list() {
    local before=""
    [[ $cur == *,* ]] && before="${cur%,*},"
    mapfile -t COMPREPLY < <(compgen -P "$before" -W "$1" -- "${cur##*,}")
    compopt -o nospace 2> /dev/null
}

_clasp_vlm_files() {
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$cur")
    compopt -o filenames 2> /dev/null
}

_clasp_vlm_folders() {
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$cur")
    compopt -o filenames 2> /dev/null
}

_clasp_vlm() {
    local cur="${COMP_WORDS[COMP_CWORD]}"
    local prev="${COMP_WORDS[COMP_CWORD - 1]}"
    COMPREPLY=()
    # "--option=value" comes as three words.
    if [[ $cur == "=" ]]; then
        cur=""
    elif [[ $prev == "=" ]]; then
        prev="${COMP_WORDS[COMP_CWORD - 2]}"
    fi
)";

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
}

std::string complete(const KnownValues& values) {
    std::string text;
    const auto add = [&text](const std::string& call) { text += (text.empty() ? "" : "; ") + call; };
    if (!values.names.empty()) {
        add((values.is_list ? "_clasp_vlm_list '" : "_clasp_vlm_words '") + joined(values.names) + "'");
    }
    if (values.takes_file) add("_clasp_vlm_files");
    if (values.takes_folder) add("_clasp_vlm_folders");
    return text.empty() ? ":" : text;
}

void write_command(std::ostringstream& out, const Command& command) {
    const std::vector<Option> options = full_options(command);
    std::string all;
    out << "        " << command.name << ")\n            case $prev in\n";
    for (const Option& option : options) {
        const std::string letter = option.short_name != 0 ? std::string("-") + option.short_name : "";
        all += (all.empty() ? "--" : " --") + std::string(option.name);
        if (!letter.empty()) all += " " + letter;
        if (option.type == OptionType::Flag) continue;
        out << "                --" << option.name << (letter.empty() ? "" : " | " + letter) << ") "
            << complete(known_values(option)) << "; return ;;\n";
    }
    out << "            esac\n            if [[ $cur == -* ]]; then _clasp_vlm_words '" << all
        << "'; return; fi\n";
    for (const Positional& positional : command.positionals) {
        const KnownValues values = known_values(command, positional);
        if (!values.is_empty()) out << "            " << complete(values) << '\n';
    }
    out << "            ;;\n";
}

}  // namespace

std::string bash_completion() {
    std::ostringstream out;
    std::string names = "help version";
    for (const Command& command : commands()) names += " " + std::string(command.name);
    out << kHead << "    if ((COMP_CWORD == 1)); then\n        _clasp_vlm_words '" << names
        << " --help --version'\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n"
        << "        help) _clasp_vlm_words '" << names << " --json --markdown --man' ;;\n";
    for (const Command& command : commands()) write_command(out, command);
    out << "    esac\n}\n\ncomplete -F _clasp_vlm clasp-vlm\n";
    return out.str();
}

}  // namespace clasp::cli
