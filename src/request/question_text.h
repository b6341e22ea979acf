// Whether a text can be a question at all.
#pragma once

#include <string_view>

#include "clasp/status.h"

namespace clasp::request {

// Error: the question is empty or blank.
Status check_question(std::string_view question);

}  // namespace clasp::request
