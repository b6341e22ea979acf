// Base64 as data files use it: the standard alphabet, padded or not, no blanks.
#pragma once

#include <string>
#include <string_view>

#include "clasp/status.h"

namespace clasp::base {

// Corrupt names the first character that is not of the alphabet, or the length that cannot be.
Result<std::string> decode_base64(std::string_view text);

}  // namespace clasp::base
