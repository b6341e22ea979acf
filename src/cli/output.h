// What commands share when they print.
#pragma once

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "cli/command.h"

namespace clasp::cli {

using Json = nlohmann::ordered_json;

// One object on one line. Bytes that are not UTF-8 become the replacement character, so that the
// output is valid JSON whatever a question contains.
inline void write_json(Console& console, const Json& json) {
    console.out << json.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
}

// Decimal digits after the point, for people.
std::string fixed(double value, int digits);

}  // namespace clasp::cli
