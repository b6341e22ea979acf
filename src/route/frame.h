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
    // What is asked for, "kind of" and the like left out: "furniture" in "what kind of furniture is wooden".
    // Empty where the question word stands alone.
    std::string_view target_tag;
    bool is_general_target = false;  // a word for a whole range of things, so that their names are wanted
    bool is_kind_of_target = false;  // "kind of" stood before it
    std::string_view after_target;   // the tag of the word behind it, or of the question word if it is alone
    std::string_view last_tag = "none";  // of the last word
};

// The views point into `segments` and `lexicon`.
Frame make_frame(std::span<const Segment> segments, const Lexicon& lexicon);

}  // namespace clasp::route
