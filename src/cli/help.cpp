#include "cli/help.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "clasp/version.h"

namespace clasp::cli {

namespace {

constexpr std::size_t kHelpColumn = 30;
constexpr std::size_t kLineWidth = 100;

std::string usage_line(const Command& command) {
    std::string line = "clasp-vlm " + std::string(command.name);
    for (const Positional& positional : command.positionals) {
        const bool is_optional = positional.min_count == 0;
        line += is_optional ? " [" : " ";
        line += positional.name;
        if (positional.max_count > 1) line += "...";
        if (is_optional) line += "]";
    }
    for (const Option& option : command.options) {
        if (option.is_required) line += " --" + std::string(option.name) + " " + std::string(option.value);
    }
    return line + " [options]";
}

std::string option_left(const Option& option) {
    std::string left = "--" + std::string(option.name);
    if (option.type != OptionType::Flag) left += " " + std::string(option.value);
    return left;
}

std::string option_right(const Option& option) {
    std::string right(option.help);
    if (!option.choices.empty()) {
        right += ": ";
        for (std::size_t i = 0; i < option.choices.size(); ++i) {
            right += (i > 0 ? ", " : "") + std::string(option.choices[i]);
        }
    }
    if (!option.fallback.empty()) right += " (default " + std::string(option.fallback) + ")";
    if (option.is_repeatable) right += " (may be repeated)";
    return right;
}

// Two columns; the right one is wrapped at words.
void write_row(std::ostringstream& out, const std::string& left, const std::string& right) {
    std::string line = "  " + left;
    if (line.size() + 2 > kHelpColumn) {
        out << line << '\n';
        line.clear();
    }
    line.resize(std::max(line.size(), kHelpColumn), ' ');
    std::istringstream words(right);
    std::string word;
    bool at_start = true;
    while (words >> word) {
        if (!at_start && line.size() + 1 + word.size() > kLineWidth) {
            out << line << '\n';
            line.assign(kHelpColumn, ' ');
            at_start = true;
        }
        if (!at_start) line += ' ';
        line += word;
        at_start = false;
    }
    out << line << '\n';
}

// Markdown tables take a bar as the end of a cell.
std::string table_cell(const std::string& text) {
    std::string cell;
    for (const char c : text) cell += c == '|' ? std::string("\\|") : std::string(1, c);
    return cell;
}

nlohmann::ordered_json option_json(const Option& option) {
    nlohmann::ordered_json json = {{"name", option.name},
                                   {"type", type_name(option.type)},
                                   {"group", group_name(option.group)},
                                   {"help", option.help}};
    if (!option.value.empty()) json["value"] = option.value;
    if (!option.fallback.empty()) json["default"] = option.fallback;
    if (std::isfinite(option.min)) json["min"] = option.min;
    if (std::isfinite(option.max)) json["max"] = option.max;
    if (!option.choices.empty()) json["choices"] = option.choices;
    json["required"] = option.is_required;
    json["repeatable"] = option.is_repeatable;
    return json;
}

}  // namespace

std::string program_help() {
    std::ostringstream out;
    out << "clasp-vlm " << CLASP_VERSION_STRING
        << ": vision-language models that read only the visual tokens the question needs\n\n"
        << "Usage: clasp-vlm COMMAND [arguments]\n\nCommands\n";
    for (const Command& command : commands())
        write_row(out, std::string(command.name), std::string(command.summary));
    write_row(out, "help", "this page; with --json or --markdown the table of all options");
    out << "\n'clasp-vlm COMMAND --help' explains one command. Every command takes --json.\n"
        << "Exit codes: 0 success, 1 failed, 2 wrong usage.\n";
    return out.str();
}

std::string command_help(const Command& command) {
    std::ostringstream out;
    out << "Usage: " << usage_line(command) << "\n\n" << command.summary << "\n";
    if (!command.positionals.empty()) {
        out << "\nArguments\n";
        for (const Positional& positional : command.positionals) {
            write_row(out, std::string(positional.name), std::string(positional.help));
        }
    }
    const std::vector<Option> options = full_options(command);
    const auto write_group = [&](std::string_view title, OptionGroup group) {
        bool is_first = true;
        for (const Option& option : options) {
            if (option.group != group) continue;
            if (is_first) out << '\n' << title << '\n';
            is_first = false;
            write_row(out, option_left(option), option_right(option));
        }
    };
    write_group("Options", OptionGroup::Behaviour);
    write_group("Speed", OptionGroup::Performance);
    write_group("Output", OptionGroup::Output);
    if (!command.notes.empty()) out << '\n' << command.notes << '\n';
    return out.str();
}

std::string table_as_json() {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Command& command : commands()) {
        nlohmann::ordered_json options = nlohmann::ordered_json::array();
        for (const Option& option : full_options(command)) options.push_back(option_json(option));
        nlohmann::ordered_json positionals = nlohmann::ordered_json::array();
        for (const Positional& positional : command.positionals) {
            positionals.push_back({{"name", positional.name},
                                   {"help", positional.help},
                                   {"min", positional.min_count},
                                   {"max", positional.max_count}});
        }
        list.push_back({{"name", command.name},
                        {"summary", command.summary},
                        {"usage", usage_line(command)},
                        {"arguments", positionals},
                        {"options", options}});
    }
    return nlohmann::ordered_json({{"version", CLASP_VERSION_STRING}, {"commands", list}}).dump(2) + "\n";
}

std::string table_as_markdown() {
    std::ostringstream out;
    out << "# Commands and options\n\n"
        << "Made from the option table by `clasp-vlm help --markdown`; do not edit by hand.\n"
        << "Exit codes: 0 success, 1 failed (one line on standard error), 2 wrong usage.\n";
    for (const Command& command : commands()) {
        out << "\n## " << command.name << "\n\n"
            << command.summary << ".\n\n```\n"
            << usage_line(command) << "\n```\n\n";
        for (const Positional& positional : command.positionals) {
            out << "- `" << positional.name << "`: " << positional.help << "\n";
        }
        if (!command.positionals.empty()) out << "\n";
        out << "| option | meaning | group |\n|---|---|---|\n";
        for (const Option& option : full_options(command)) {
            out << "| `" << table_cell(option_left(option)) << "` | " << table_cell(option_right(option))
                << " | " << group_name(option.group) << " |\n";
        }
        if (!command.notes.empty()) out << '\n' << command.notes << '\n';
    }
    return out.str();
}

}  // namespace clasp::cli
