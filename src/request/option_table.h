// The options of a request, of generation and of an engine: one table for the command line, for JSON requests
// and for the C header. An option is one row here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "clasp/status.h"
#include "request/option.h"
#include "request/option_value.h"
#include "request/settings.h"

namespace clasp::request {

enum class Scope : std::uint8_t {
    Model,       // which files
    Asking,      // what a request keeps of its pictures, and how
    Router,      // who names the class of a question
    Generation,  // how the answer is written
    Time,        // how long that may take
    Memory,      // what stays from one request to the next
    Engine,      // how fast it comes
};

// Who set an option, for messages and for how names are spelled.
enum class Caller : std::uint8_t { CommandLine, Json, C };

// What of a request an option is about: without it the option has no effect, and who gives it is told so.
enum class About : std::uint8_t {
    Anything,
    Tokens,  // which visual tokens are kept
    Detail,  // how finely pictures are seen
    Clips,   // which frames of a clip are seen
};

struct Row {
    Scope scope;
    Option option;  // as the command line has it
    // Takes a value that read_text() or read_json() gave. Error: a value that cannot be.
    Status (*set)(Settings& settings, const Value& value);
    std::string key = {};       // in JSON and C; empty: the name with _ for -
    bool is_negated = false;    // the name says the contrary of the key: --no-fusion, "fusion": false
    bool takes_number = false;  // a text that may be a number in JSON
    About about = About::Anything;
};

std::span<const Row> option_table();
// Null when there is none of that name.
const Row* find_row(std::string_view name);
// The options of a scope, in the order of the table.
std::vector<Option> options_of(Scope scope);
// Likewise those about something.
std::vector<Option> options_about(About about);
// Precondition: the table has it.
Option option_named(std::string_view name);

// "--budget-kind", or "budget_kind".
std::string spelled(std::string_view name, Caller caller);

// Nothing given; every option at its default.
Settings default_settings();
// Sets an option by its key and a text ("true" or "false" for flags); one that is repeatable is added to.
// Errors: not_found with the names that the scopes have; a value that cannot be.
Status set_option(Settings& settings, std::span<const Scope> scopes, std::string_view key,
                  std::string_view text);

}  // namespace clasp::request
