// Rows of the request's option table out of a command's arguments.
#pragma once

#include <initializer_list>
#include <string_view>

#include "clasp/status.h"
#include "cli/arguments.h"
#include "cli/option.h"
#include "request/option_table.h"
#include "request/settings.h"

namespace clasp::cli {

// Sets what the command has of these scopes, its own defaults included, and notes what was given.
Status read_rows(const Arguments& arguments, std::initializer_list<request::Scope> scopes,
                 request::Settings& settings);
// The same for one option.
Status read_row(const Arguments& arguments, std::string_view name, request::Settings& settings);

// An option of the table under the help of a command of its own.
Option option_with_help(std::string_view name, std::string_view help);

}  // namespace clasp::cli
