#include "cli/help.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include "base/json.h"
#include "clasp/version.h"

namespace clasp::cli {

namespace {

using base::Json;

constexpr std::size_t kHelpColumn = 36;
constexpr std::size_t kLineWidth = 100;

constexpr std::string_view kExitCodes =
    "Exit codes: 0 success, 1 failed, 2 wrong usage or a value that cannot be, 130 stopped by Ctrl-C.";

constexpr std::array kFirstExamples = {
#ifdef CLASP_HAS_ENGINE
    Example{"clasp-vlm ask photo.jpg \"How many cups are on the table?\" -m llava.gguf -M mmproj.gguf",
            "answer a question about a picture"},
    Example{
        "clasp-vlm compare photo.jpg \"What is this?\" --methods clasp+,fastv,random -b 64 --map kept.png",
        "the same question under several methods, and what each of them kept"},
    Example{"clasp-vlm bench -m llava.gguf -M mmproj.gguf", "how much sooner answers come on this machine"},
#else
    Example{"clasp-vlm route \"How many cups are on the table?\"", "the class of a question"},
    Example{"clasp-vlm schedule --tokens 576 --layers 32 -b 192", "what a budget means per decoder layer"},
    Example{"clasp-vlm methods", "the ways of choosing tokens"},
#endif
};

}  // namespace

std::span<const Example> first_examples() {
    return kFirstExamples;
}

std::string usage_line(const Command& command) {
    std::string line = "clasp-vlm " + std::string(command.name);
    for (const Positional& positional : command.positionals) {
        const bool is_optional = positional.min_count == 0;
        line += is_optional ? " [" : " ";
        if (positional.choices.empty()) {
            line += positional.name;
        } else {
            for (std::size_t i = 0; i < positional.choices.size(); ++i) {
                line += (i > 0 ? "|" : "") + std::string(positional.choices[i]);
            }
        }
        if (positional.max_count > 1) line += "...";
        if (is_optional) line += "]";
    }
    for (const Option& option : command.options) {
        if (option.is_required) line += " --" + std::string(option.name) + " " + std::string(option.value);
    }
    return line + " [options]";
}

std::string option_left(const Option& option) {
    std::string left = option.short_name != 0 ? std::string("-") + option.short_name + ", " : "";
    left += "--" + std::string(option.name);
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

namespace {

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

Json option_json(const Option& option) {
    Json json = {{"name", option.name},
                 {"type", type_name(option.type)},
                 {"group", group_name(option.group)},
                 {"help", option.help}};
    if (option.short_name != 0) json["short"] = std::string(1, option.short_name);
    if (!option.value.empty()) json["value"] = option.value;
    if (!option.fallback.empty()) json["default"] = option.fallback;
    if (std::isfinite(option.min)) json["min"] = option.min;
    if (std::isfinite(option.max)) json["max"] = option.max;
    if (!option.choices.empty()) json["choices"] = option.choices;
    if (!option.extensions.empty()) json["extensions"] = option.extensions;
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
    write_row(out, "help [COMMAND]",
              "this page, or all about one command; --json, --markdown and --man give everything at once");
    write_row(out, "version", "the version; also -V or --version");
    out << "\nTry first\n";
    for (const Example& example : kFirstExamples) {
        out << "  " << example.line << '\n' << "      " << example.what << '\n';
    }
    out << "\n'clasp-vlm COMMAND --help' explains one command; -h is the same. Every command takes --json.\n"
        << "Without -m the small model that comes with the program answers; it knows drawn scenes only.\n"
        << kExitCodes << '\n';
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
            // Names stand below each other, whether there is a letter before them or not.
            const std::string indent(option.short_name != 0 ? 0 : 4, ' ');
            write_row(out, indent + option_left(option), option_right(option));
        }
    };
    write_group("Options", OptionGroup::Behaviour);
    write_group("Speed", OptionGroup::Performance);
    write_group("Output", OptionGroup::Output);
    if (!command.notes.empty()) out << '\n' << command.notes << '\n';
    if (!command.examples.empty()) out << "\nExamples\n";
    for (const std::string_view example : command.examples) out << "  " << example << '\n';
    return out.str();
}

std::string table_as_json() {
    Json list = Json::array();
    for (const Command& command : commands()) {
        Json options = Json::array();
        for (const Option& option : full_options(command)) options.push_back(option_json(option));
        Json positionals = Json::array();
        for (const Positional& positional : command.positionals) {
            Json argument = {{"name", positional.name},
                             {"help", positional.help},
                             {"min", positional.min_count},
                             {"max", positional.max_count}};
            if (!positional.choices.empty()) argument["choices"] = positional.choices;
            argument["stdin"] = positional.takes_stdin;
            positionals.push_back(std::move(argument));
        }
        list.push_back({{"name", command.name},
                        {"summary", command.summary},
                        {"usage", usage_line(command)},
                        {"arguments", positionals},
                        {"options", options},
                        {"examples", command.examples}});
    }
    return base::dump_json({{"version", CLASP_VERSION_STRING}, {"commands", list}}, 2) + "\n";
}

std::string table_as_markdown() {
    std::ostringstream out;
    out << "# Commands and options\n\n"
        << "Made from the option table by `clasp-vlm help --markdown`; do not edit by hand.\n"
        << kExitCodes << "\n"
        << "Every error is one line on standard error; with `--json` standard output then holds one object,\n"
        << "`{\"error\": {\"code\", \"message\"}}`. A letter means the same option in every command; letter "
           "case\n"
        << "does not matter in names of methods, policies, classes and choices.\n";
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
        if (!command.examples.empty()) out << "\n```\n";
        for (const std::string_view example : command.examples) out << example << '\n';
        if (!command.examples.empty()) out << "```\n";
    }
    return out.str();
}

}  // namespace clasp::cli
