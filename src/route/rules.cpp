#include "route/rules.h"

#include <algorithm>
#include <set>

#include "base/json.h"
#include "base/text.h"

namespace clasp::route {

namespace {

using base::Json;

constexpr std::size_t kMaxRules = 1000;

Status bad_rule(const std::string& name, std::string_view what) {
    return {Code::Corrupt, "rule " + base::in_quotes(name) + ": " + std::string(what)};
}

Result<std::vector<std::string>> strings(const Json& rule, const char* key, const std::string& name) {
    std::vector<std::string> out;
    const Json* const list = rule.find(key);
    if (list == nullptr) return out;
    if (!list->is_array()) return bad_rule(name, std::string("\"") + key + "\" is not a list");
    for (const Json& item : *list) {
        if (!item.get_to(out.emplace_back()))
            return bad_rule(name, std::string("\"") + key + "\" holds something that is no text");
    }
    return out;
}

Result<std::vector<Pattern>> patterns(const Json& rule, const char* key, const std::string& name) {
    CLASP_ASSIGN_OR_RETURN(const std::vector<std::string> texts, strings(rule, key, name));
    std::vector<Pattern> out;
    for (const std::string& text : texts) {
        auto pattern = Pattern::parse(text);
        if (!pattern) return bad_rule(name, pattern.status().message());
        out.push_back(std::move(pattern).value());
    }
    return out;
}

Result<Rule> parse_rule(const Json& json) {
    Rule rule;
    if (!json.is_object()) return bad_rule("", "not an object");
    for (const auto& [key, field] : {std::pair{"name", &rule.name}, std::pair{"intent", &rule.intent},
                                     std::pair{"reason", &rule.reason}}) {
        if (!json[key].get_to(*field) || field->empty()) {
            return bad_rule(rule.name, std::string("has no text \"") + key + "\"");
        }
    }
    CLASP_ASSIGN_OR_RETURN(rule.patterns, patterns(json, "patterns", rule.name));
    CLASP_ASSIGN_OR_RETURN(rule.unless, patterns(json, "unless", rule.name));
    CLASP_ASSIGN_OR_RETURN(rule.matches, strings(json, "matches", rule.name));
    CLASP_ASSIGN_OR_RETURN(rule.misses, strings(json, "misses", rule.name));
    if (rule.patterns.empty()) return bad_rule(rule.name, "has no \"patterns\"");
    if (const Json* const confidence = json.find("confidence")) {
        double value = 0.0;
        if (!confidence->get_to(value)) return bad_rule(rule.name, "\"confidence\" is not a number");
        if (!(value > 0.0 && value <= 1.0) || !(static_cast<float>(value) > 0.0F)) {
            return bad_rule(rule.name, "\"confidence\" is not above 0 and at most 1");
        }
        rule.confidence = static_cast<float>(value);
    }
    return rule;
}

bool fits(const Rule& rule, std::span<const Word> words) {
    const auto hit = [&](const Pattern& pattern) { return pattern.matches(words); };
    return std::any_of(rule.patterns.begin(), rule.patterns.end(), hit) &&
           std::none_of(rule.unless.begin(), rule.unless.end(), hit);
}

}  // namespace

Result<std::vector<Rule>> parse_rules(std::string_view json_array) {
    const auto parsed = base::parse_json(json_array, {});
    if (!parsed) return parsed.status().with_context("rules");
    const Json& json = *parsed;
    if (!json.is_array()) return Status(Code::Corrupt, "rules are not a JSON list");
    if (json.size() > kMaxRules) {
        return Status(Code::TooLarge,
                      std::to_string(json.size()) + " rules exceed " + std::to_string(kMaxRules));
    }
    std::vector<Rule> rules;
    std::set<std::string> names;
    for (const Json& item : json) {
        CLASP_ASSIGN_OR_RETURN(Rule rule, parse_rule(item));
        if (!names.insert(rule.name).second) return bad_rule(rule.name, "there are two of that name");
        rules.push_back(std::move(rule));
    }
    return rules;
}

const Rule* find_rule(std::span<const Rule> rules, std::span<const Word> words) {
    std::vector<Word> plain;
    plain.reserve(words.size());
    for (const Word& word : words) {
        if (word.kind != WordKind::Mark) plain.push_back(word);
    }
    const auto found =
        std::find_if(rules.begin(), rules.end(), [&](const Rule& rule) { return fits(rule, plain); });
    return found == rules.end() ? nullptr : &*found;
}

}  // namespace clasp::route
