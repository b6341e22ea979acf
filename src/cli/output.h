// What commands share when they print.
#pragma once

#include <ostream>
#include <string>

#include "base/json.h"
#include "cli/command.h"

namespace clasp::cli {

using base::Json;

// One object of JSON Lines. Bytes that are not UTF-8 become the replacement character, so that the
// output is valid JSON whatever a question contains; on a terminal everything but ASCII is escaped.
void write_json_line(Console& console, const Json& json);

// The one object of a command's result; should the command fail afterwards, no second one is written.
void write_json(Console& console, const Json& json);

// Decimal digits after the point, for people.
std::string fixed(double value, int digits);

}  // namespace clasp::cli
