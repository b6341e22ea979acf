// The frame of a sentence: function words and word classes in order, with noun phrases shrunk to one
// part. "Is the fluffy dog next to a car?" becomes ^ be NP+LIVING PREP NP ? $.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "route/lexicon.h"

namespace clasp::route {

struct Frame {
    std::vector<std::string_view> parts;  // begins with "^", ends with "$"
    std::string_view type;  // the word that makes it a question or an order: what, be, DESCRIBE, ...
    std::string_view head;  // the word asked about: "colour" in "what colour is ..."; may be empty
    std::string_view head_tag;
};

// The views point into `segments` and `lexicon`.
Frame make_frame(std::span<const Segment> segments, const Lexicon& lexicon);

}  // namespace clasp::route
