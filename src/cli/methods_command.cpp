// clasp-vlm methods: the ways of choosing tokens, with their options, as the registry describes them.
#include <algorithm>
#include <cmath>
#include <iomanip>
#include <ostream>

#include "base/text.h"
#include "clasp/policy.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "methods/describe.h"

namespace clasp::cli {

namespace {

using methods::Description;
using methods::Method;
using methods::OptionSpec;

std::string_view type_of(const OptionSpec& option) {
    switch (option.type) {
        case OptionSpec::Type::Choice: return "choice";
        case OptionSpec::Type::Integer: return "integer";
        case OptionSpec::Type::Number: return "number";
    }
    return "choice";
}

Json option_json(const OptionSpec& option) {
    Json json = {{"name", option.name}, {"type", type_of(option)}, {"help", option.help}};
    json["default"] = option.fallback.empty() ? Json() : Json(option.fallback);
    if (!option.choices.empty()) json["choices"] = option.choices;
    if (std::isfinite(option.min)) json["min"] = option.min;
    if (std::isfinite(option.max)) json["max"] = option.max;
    return json;
}

Json as_json(const Method& method, const Description& description) {
    Json options = Json::array();
    for (const OptionSpec& option : method.options) options.push_back(option_json(option));
    return {{"name", method.name},
            {"summary", method.summary},
            {"paper", method.paper.empty() ? Json() : Json(method.paper)},
            {"acts", description.sites},
            {"decoder_layers", description.layers},
            {"when", description.layers.empty() ? Json() : Json(stage_mode_name(description.mode))},
            {"drops", description.drops},
            {"merges", method.merges},
            {"masses", method.uses_masses},
            {"takes_masses", method.drops},
            {"mixes_layers", method.mixes_layers},
            {"policy_stages", method.uses_schedule},
            {"positions", description.positions == methods::PositionMode::Keep ? "keep" : "compact"},
            {"options", options}};
}

std::string acts_text(const Method& method, const Description& description) {
    std::string text;
    for (const std::string& site : description.sites) text += (text.empty() ? "" : ", then ") + site;
    if (method.uses_schedule) return text + ", at the policy's stages";
    if (description.layers.empty()) return text;
    text += ", " + std::string(stage_mode_name(description.mode));
    text += description.layers.size() == 1 ? " layer " : " layers ";
    for (std::size_t i = 0; i < description.layers.size(); ++i) {
        text += (i > 0 ? ", " : "") + std::to_string(description.layers[i]);
    }
    return text + " of 32";
}

std::string effect_text(const Method& method, const Description& description) {
    if (method.merges && description.drops) return "merges and drops";
    return method.merges ? "merges" : "drops";
}

std::string range_text(const OptionSpec& option) {
    if (!option.choices.empty()) return base::join(option.choices);
    std::string kind = option.type == OptionSpec::Type::Integer ? "whole number" : "number";
    if (!std::isfinite(option.min) || !std::isfinite(option.max)) return kind;
    return kind + " from " + base::format_number(option.min) + " to " + base::format_number(option.max);
}

void print_one(const Method& method, const Description& description, Console& console) {
    std::ostream& out = console.out;
    out << method.name << ": " << method.summary << "\n  acts       " << acts_text(method, description)
        << "\n  does       " << effect_text(method, description)
        << (method.uses_masses ? ", and dropped tokens leave their mass" : "")
        << (method.mixes_layers ? "; mixes vision layers as the policy says" : "") << "\n  positions  "
        << (description.positions == methods::PositionMode::Keep ? "kept" : "compact") << " (official)\n"
        << "  paper      " << (method.paper.empty() ? "none, a yardstick" : method.paper) << '\n';
    out << (method.options.empty() ? "  no options\n" : "  options (--method-option NAME=VALUE)\n");
    for (const OptionSpec& option : method.options) {
        out << "    " << option.name << ": " << option.help << " (" << range_text(option)
            << (option.fallback.empty() ? "" : "; default " + std::string(option.fallback)) << ")\n";
    }
}

void print_list(Console& console) {
    std::size_t width = 0;
    for (const Method& method : methods::all_methods()) width = std::max(width, method.name.size());
    for (const Method& method : methods::all_methods()) {
        console.out << std::left << std::setw(static_cast<int>(width) + 2) << method.name << method.summary
                    << '\n';
    }
    console.out << "\n'clasp-vlm methods NAME' tells where one acts and which options it has.\n";
}

Status check(const Arguments& arguments) {
    for (const std::string& name : arguments.positional("NAME"))
        CLASP_RETURN_IF_ERROR(methods::find_method(name).status());
    return ok_status();
}

Status run(const Arguments& arguments, Console& console) {
    const bool as_json_object = arguments.flag("json");
    if (const auto& names = arguments.positional("NAME"); !names.empty()) {
        CLASP_ASSIGN_OR_RETURN(const Method* method, methods::find_method(names.front()));
        CLASP_ASSIGN_OR_RETURN(const Description description, methods::describe(*method));
        if (as_json_object) {
            write_json(console, as_json(*method, description));
        } else {
            print_one(*method, description, console);
        }
        return ok_status();
    }
    if (!as_json_object) {
        print_list(console);
        return ok_status();
    }
    Json list = Json::array();
    for (const Method& method : methods::all_methods()) {
        CLASP_ASSIGN_OR_RETURN(const Description description, methods::describe(method));
        list.push_back(as_json(method, description));
    }
    write_json(console, {{"methods", list}});
    return ok_status();
}

}  // namespace

Command methods_command() {
    return {
        .name = "methods",
        .summary = "List the methods that choose tokens, or tell all about one",
        .positionals = {{.name = "NAME", .help = "a method; without it all are listed", .min_count = 0}},
        .examples = {"clasp-vlm methods", "clasp-vlm methods fastv"},
        .check = check,
        .run = run,
    };
}

}  // namespace clasp::cli
