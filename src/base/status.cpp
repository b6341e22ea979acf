#include "clasp/status.h"

#include <cstdlib>

namespace clasp {

std::string_view code_name(Code code) {
    switch (code) {
        case Code::Ok: return "ok";
        case Code::InvalidArgument: return "invalid_argument";
        case Code::NotFound: return "not_found";
        case Code::Unsupported: return "unsupported";
        case Code::Corrupt: return "corrupt";
        case Code::TooLarge: return "too_large";
        case Code::OutOfMemory: return "out_of_memory";
        case Code::Cancelled: return "cancelled";
        case Code::Deadline: return "deadline";
        case Code::Unavailable: return "unavailable";
        case Code::Internal: return "internal";
    }
    return "internal";
}

Status Status::with_context(std::string_view context) const {
    if (ok()) return {};
    std::string text(context);
    text += ": ";
    text += message_;
    return {code_, std::move(text)};
}

void no_value() {
    std::abort();
}

}  // namespace clasp
