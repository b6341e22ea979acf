// Deterministic overrides: where a few words settle what is asked, no classifier is needed. Each rule
// carries the reason it exists and questions it must and must not catch.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/status.h"
#include "route/pattern.h"

namespace clasp::route {

struct Rule {
    std::string name;
    std::string intent;
    std::vector<Pattern> patterns;  // any of them
    std::vector<Pattern> unless;    // none of them
    float confidence = 1.0f;
    std::string reason;
    std::vector<std::string> matches;  // questions it must catch
    std::vector<std::string> misses;   // and some it must leave alone
};

// The JSON array "rules" of a taxonomy or of data/rules.json. Corrupt names the rule and the field.
Result<std::vector<Rule>> parse_rules(std::string_view json_array);

// The first rule that fits, or null. `words` as read_question() gives them.
const Rule* find_rule(std::span<const Rule> rules, std::span<const Word> words);

}  // namespace clasp::route
