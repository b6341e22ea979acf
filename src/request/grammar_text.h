// Grammars in llama.cpp's notation (GBNF), before llama.cpp gets them: its parser takes for ever over some,
// needs all memory for others, and repeats the whole text on standard error when it does not like it.
#pragma once

#include <cstddef>
#include <string_view>

#include "clasp/status.h"

namespace clasp::request {

struct GrammarLimits {
    std::size_t max_bytes = std::size_t{64} << 10U;
    std::size_t max_depth = 16;          // of parentheses
    std::size_t max_rules = 2000;        // with those that parentheses and repetitions become
    std::size_t max_elements = 200'000;  // characters, classes and names, repetitions written out
    std::size_t max_ways = 100'000;      // from a rule down to those that it may begin with
};

// Errors: invalid_argument for what is no grammar with a rule "root", for a name without a rule and for a
// rule that may begin with itself; too_large for a limit. Tokens in angle brackets are not taken.
Status check_grammar(std::string_view text, const GrammarLimits& limits = {});

}  // namespace clasp::request
