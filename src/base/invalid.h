// The error that most checks of input return.
#pragma once

#include <string>
#include <utility>

#include "clasp/status.h"

namespace clasp::base {

inline Status invalid(std::string message) {
    return {Code::InvalidArgument, std::move(message)};
}

}  // namespace clasp::base
