// Names that nobody guesses and that no two replies share.
#pragma once

#include <string>
#include <string_view>

namespace clasp::serve {

// The prefix and 32 hexadecimal digits out of the system's random numbers.
std::string random_id(std::string_view prefix);

}  // namespace clasp::serve
