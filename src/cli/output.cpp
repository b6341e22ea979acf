#include "cli/output.h"

#include <cstdio>

namespace clasp::cli {

std::string fixed(double value, int digits) {
    char text[64];
    const int length = std::snprintf(text, sizeof text, "%.*f", digits, value);
    return {text, static_cast<std::size_t>(length > 0 ? length : 0)};
}

}  // namespace clasp::cli
