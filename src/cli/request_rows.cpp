#include "cli/request_rows.h"

#include <algorithm>

#include "base/check.h"

namespace clasp::cli {

namespace {

Status read(const Arguments& arguments, const request::Row& row, request::Settings& settings) {
    const Option& option = row.option;
    const bool is_given = arguments.is_given(option.name);
    const auto set = [&](const std::string& text) -> Status {
        CLASP_ASSIGN_OR_RETURN(
            const request::Value value,
            request::read_text(option, request::spelled(option.name, request::Caller::CommandLine), text));
        return row.set(settings, value);
    };
    if (option.type == OptionType::Flag) {
        if (is_given) CLASP_RETURN_IF_ERROR(set(row.is_negated ? "false" : "true"));
    } else if (option.is_repeatable) {
        for (const std::string& text : arguments.all(option.name)) CLASP_RETURN_IF_ERROR(set(text));
    } else if (const auto text = arguments.text_if(option.name)) {
        CLASP_RETURN_IF_ERROR(set(*text));
    }
    if (is_given) settings.given.emplace(option.name);
    return ok_status();
}

}  // namespace

Status read_rows(const Arguments& arguments, std::initializer_list<request::Scope> scopes,
                 request::Settings& settings) {
    for (const request::Row& row : request::option_table()) {
        if (std::find(scopes.begin(), scopes.end(), row.scope) == scopes.end()) continue;
        CLASP_RETURN_IF_ERROR(read(arguments, row, settings));
    }
    return ok_status();
}

Status read_row(const Arguments& arguments, std::string_view name, request::Settings& settings) {
    const request::Row* row = request::find_row(name);
    CLASP_CHECK(row != nullptr);
    return read(arguments, *row, settings);
}

Option option_with_help(std::string_view name, std::string_view help) {
    Option option = request::option_named(name);
    option.help = help;
    return option;
}

}  // namespace clasp::cli
