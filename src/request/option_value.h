// From what a caller gave for an option, as text or as JSON, to a value that fits it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "clasp/status.h"
#include "request/option.h"

namespace clasp::request {

struct Value {
    std::string text;       // of choices as the option spells it
    long long integer = 0;  // of integers
    double number = 0.0;    // of integers and numbers
    bool is_on = true;      // of flags
};

// shown: the option's name in messages. Error: invalid_argument with what the option takes.
Result<Value> read_text(const Option& option, std::string_view shown, std::string_view text);
// The same for a JSON value: flags are booleans. takes_number: a text may be a number too.
Result<Value> read_json(const Option& option, std::string_view shown, const base::Json& json,
                        bool takes_number = false);

// The choice as the list spells it; letter case is ignored. Error: invalid_argument with the choices.
Result<std::string> read_choice(std::string_view shown, const std::vector<std::string_view>& choices,
                                std::string_view text);

// Whole numbers and decimals as a person writes them: no blanks, no trailing text, finite.
std::optional<long long> parse_integer(std::string_view text);
std::optional<double> parse_number(std::string_view text);

}  // namespace clasp::request
