// Labelled questions, one JSON object per line: "text", and as a label "intent" (a name), "category"
// (a class id), both or none; "benchmark" names the set a line comes from.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/status.h"

namespace clasp::route {

struct Question {
    std::string text;
    std::string benchmark;
    std::optional<int> class_id;
    std::string intent;  // empty if only the class is known
};

// Corrupt with the line number if a line is not such an object. Empty lines are skipped.
Result<std::vector<Question>> parse_questions(std::string_view json_lines);

}  // namespace clasp::route
