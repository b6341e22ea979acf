#include "cli/output.h"

#include <cstdio>

namespace clasp::cli {

void write_json_line(Console& console, const Json& json) {
    console.out << (console.out_is_terminal ? base::dump_json_ascii(json) : base::dump_json(json)) << '\n';
}

void write_json(Console& console, const Json& json) {
    write_json_line(console, json);
    console.has_result = true;
}

std::string fixed(double value, int digits) {
    char text[64];
    const int length = std::snprintf(text, sizeof text, "%.*f", digits, value);
    return {text, static_cast<std::size_t>(length > 0 ? length : 0)};
}

}  // namespace clasp::cli
