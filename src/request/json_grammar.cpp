#include "request/json_grammar.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/invalid.h"
#include "base/text.h"
#include "request/digit_ranges.h"
#include "request/grammar_text.h"

namespace clasp::request {

namespace {

using base::invalid;
using base::Json;

struct FixedRule {
    std::string_view name;
    std::string_view text;
    std::size_t n_rules;  // with those that repetitions become
};

// What every grammar has. White space is bounded, or a model may write nothing else for ever. Escaped
// surrogates are left out, so that a character is one step of the grammar.
constexpr std::array<FixedRule, 12> kFixed = {{
    {"ws", R"(| " " | "\n" " "{0,16})", 18},
    {"hex", "[0-9a-fA-F]", 1},
    {"char",
     R"([^"\\\x7F\x00-\x1F] | "\\" (["\\/bfnrt] | "u" ([0-9a-cA-CeEfF] hex hex hex | [dD] [0-7] hex hex)))",
     4},
    {"string", R"("\"" char* "\"")", 2},
    {"whole", R"("-"? ("0" | [1-9] [0-9]{0,15}))", 18},
    {"number", R"(whole ("." [0-9]{1,16})? ([eE] [-+]? [0-9]{1,2})?)", 22},
    {"boolean", R"("true" | "false")", 1},
    {"null", R"("null")", 1},
    {"member", R"(string ":" ws value)", 1},
    {"object", R"("{" ws (member ("," ws member)*)? ws "}")", 4},
    {"array", R"("[" ws (value ("," ws value)*)? ws "]")", 4},
    {"value", "object | array | string | number | boolean | null", 1},
}};

std::string fixed_rules() {
    std::string text;
    for (const FixedRule& rule : kFixed) {
        text.append(rule.name).append(" ::= ").append(rule.text).append("\n");
    }
    return text;
}

// A value exactly as it is.
std::string literal(const Json& value) {
    std::string text = "\"";
    for (const char c : base::dump_json(value)) {
        if (c == '"' || c == '\\') text += '\\';
        text += c;
    }
    return text + "\"";
}

// Say nothing about a value.
constexpr std::array<std::string_view, 12> kAnnotations = {
    "$schema",     "$id",     "$comment", "$defs",      "definitions", "title",
    "description", "default", "examples", "deprecated", "readOnly",    "writeOnly"};

bool is_annotation(std::string_view word) {
    return std::find(kAnnotations.begin(), kAnnotations.end(), word) != kAnnotations.end();
}

class SchemaGrammar {
   public:
    SchemaGrammar(const Json& schema, const SchemaLimits& limits) : schema_(schema), limits_(limits) {
        for (const FixedRule& rule : kFixed) n_rules_ += rule.n_rules;
    }

    Result<std::string> write() {
        if (base::dump_json(schema_).size() > limits_.max_bytes) {
            return Status(Code::TooLarge, "the schema has more than the limit of " +
                                              std::to_string(limits_.max_bytes) + " bytes");
        }
        text_ = "root ::= " + refer("#") + "\n";
        while (!pending_.empty()) {
            const std::string reference = pending_.front();
            pending_.pop_front();
            const std::string name = references_[reference];
            CLASP_ASSIGN_OR_RETURN(const Json* target, find(reference));
            CLASP_ASSIGN_OR_RETURN(const std::string body, expression(*target, reference, 1));
            CLASP_RETURN_IF_ERROR(add_rule(name, body, 1));
        }
        text_ += fixed_rules();
        CLASP_RETURN_IF_ERROR(check_grammar(text_, {.max_bytes = 32 * limits_.max_bytes}));
        return text_;
    }

   private:
    // The rule of a place in the schema, which is written later.
    std::string refer(const std::string& reference) {
        const auto known = references_.find(reference);
        if (known != references_.end()) return known->second;
        pending_.push_back(reference);
        return references_[reference] = "ref" + std::to_string(references_.size());
    }

    Result<const Json*> find(const std::string& reference) const {
        if (reference == "#") return &schema_;
        for (const std::string_view folder : {"$defs", "definitions"}) {
            const std::string begin = "#/" + std::string(folder) + "/";
            if (!reference.starts_with(begin)) continue;
            if (const Json* target = schema_[folder].find(reference.substr(begin.size()))) return target;
        }
        return invalid("the schema has nothing at " + base::in_quotes(reference) +
                       "; references lead to # or #/$defs/NAME");
    }

    Status add_rule(const std::string& name, const std::string& body, std::size_t n_rules) {
        n_rules_ += n_rules;
        text_ += name + " ::= " + body + "\n";
        if (n_rules_ > limits_.max_rules || text_.size() > 16 * limits_.max_bytes) {
            return {Code::TooLarge, "the schema becomes more than the limit of " +
                                        std::to_string(limits_.max_rules) + " rules of a grammar"};
        }
        return ok_status();
    }

    std::string new_name() { return "s" + std::to_string(n_names_++); }

    // A rule of its own for a schema in another one.
    Result<std::string> sub_rule(const Json& schema, const std::string& place, std::size_t depth) {
        if (const std::string* reference = only_reference(schema)) return refer(*reference);
        CLASP_ASSIGN_OR_RETURN(const std::string body, expression(schema, place, depth + 1));
        const std::string name = new_name();
        CLASP_RETURN_IF_ERROR(add_rule(name, body, 1));
        return name;
    }

    static const std::string* only_reference(const Json& schema) {
        const std::string* reference = schema["$ref"].as_string();
        if (reference == nullptr) return nullptr;
        for (const base::JsonMember& member : schema.items()) {
            if (member.key != "$ref" && !is_annotation(member.key)) return nullptr;
        }
        return reference;
    }

    // Alternatives of a rule.
    Result<std::string> expression(const Json& schema, const std::string& place, std::size_t depth) {
        if (depth > limits_.max_depth) {
            return Status(Code::TooLarge, place + " is nested deeper than the limit of " +
                                              std::to_string(limits_.max_depth) + " schemas");
        }
        if (schema == Json(true)) return std::string("value");
        if (!schema.is_object()) return invalid(place + " takes an object, which is a schema");
        if (const std::string* reference = only_reference(schema)) return refer(*reference);
        if (schema.contains("const")) {
            CLASP_RETURN_IF_ERROR(check_words(schema, place, {"const", "type"}));
            return literal(schema["const"]);
        }
        if (schema.contains("enum")) return write_enum(schema, place);
        if (schema.contains("anyOf")) return write_any_of(schema, place, depth);
        return write_types(schema, place, depth);
    }

    static Status check_words(const Json& schema, const std::string& place,
                              const std::vector<std::string_view>& known) {
        for (const base::JsonMember& member : schema.items()) {
            if (is_annotation(member.key)) continue;
            if (std::find(known.begin(), known.end(), member.key) == known.end()) {
                return invalid(place + ": " + base::in_quotes(member.key) + " is not supported here");
            }
        }
        return ok_status();
    }

    static Result<std::string> write_enum(const Json& schema, const std::string& place) {
        CLASP_RETURN_IF_ERROR(check_words(schema, place, {"enum", "type"}));
        const Json& values = schema["enum"];
        if (!values.is_array() || values.empty()) return invalid(place + ".enum takes a list of values");
        std::string text;
        for (const Json& value : values) text += (text.empty() ? "" : " | ") + literal(value);
        return text;
    }

    Result<std::string> write_any_of(const Json& schema, const std::string& place, std::size_t depth) {
        CLASP_RETURN_IF_ERROR(check_words(schema, place, {"anyOf"}));
        const Json& schemas = schema["anyOf"];
        if (!schemas.is_array() || schemas.empty()) return invalid(place + ".anyOf takes a list of schemas");
        std::string text;
        for (std::size_t i = 0; i < schemas.size(); ++i) {
            CLASP_ASSIGN_OR_RETURN(const std::string name,
                                   sub_rule(schemas[i], place + ".anyOf[" + std::to_string(i) + "]", depth));
            text += (text.empty() ? "" : " | ") + name;
        }
        return text;
    }

    Result<std::string> write_types(const Json& schema, const std::string& place, std::size_t depth) {
        std::vector<std::string> types;
        const Json& type = schema["type"];
        if (const std::string* one = type.as_string()) {
            types.push_back(*one);
        } else if (type.is_null() && !schema.contains("type")) {
            types.push_back(guess_type(schema));
        } else if (!type.get_to(types) || types.empty()) {
            return invalid(place + ".type takes a name of a type, or a list of them");
        }
        // Words of several types: each type reads its own, and all must be read by one.
        std::vector<std::string_view> known = {"type"};
        std::string text;
        for (const std::string& one : types) {
            CLASP_ASSIGN_OR_RETURN(const std::string more, write_type(one, schema, place, depth, known));
            text += (text.empty() ? "" : " | ") + more;
        }
        CLASP_RETURN_IF_ERROR(check_words(schema, place, known));
        return text;
    }

    // What a schema without a type talks about.
    static std::string guess_type(const Json& schema) {
        for (const char* word : {"properties", "required", "additionalProperties"}) {
            if (schema.contains(word)) return "object";
        }
        for (const char* word : {"items", "prefixItems", "minItems", "maxItems"}) {
            if (schema.contains(word)) return "array";
        }
        return schema.contains("minLength") || schema.contains("maxLength") ? "string" : "any";
    }

    Result<std::string> write_type(const std::string& type, const Json& schema, const std::string& place,
                                   std::size_t depth, std::vector<std::string_view>& known) {
        const auto knows = [&known](std::initializer_list<std::string_view> words) {
            known.insert(known.end(), words);
        };
        if (type == "object") {
            knows({"properties", "required", "additionalProperties"});
            return write_object(schema, place, depth);
        }
        if (type == "array") {
            knows({"items", "prefixItems", "minItems", "maxItems"});
            return write_array(schema, place, depth);
        }
        if (type == "string") {
            knows({"minLength", "maxLength"});
            return write_string(schema, place);
        }
        if (type == "integer") {
            knows({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"});
            return write_integer(schema, place);
        }
        for (const std::string_view plain : {"number", "boolean", "null"}) {
            if (type == plain) return type;
        }
        if (type == "any") return std::string("value");
        return invalid(place + ".type takes string, number, integer, boolean, object, array or null, not " +
                       base::in_quotes(type));
    }

    Result<std::string> write_object(const Json& schema, const std::string& place, std::size_t depth) {
        const Json& properties = schema["properties"];
        if (!properties.is_null() && !properties.is_object())
            return invalid(place + ".properties takes an object of schemas");
        std::vector<std::string> required;
        if (schema.contains("required") && !schema["required"].get_to(required))
            return invalid(place + ".required takes a list of names");
        for (const std::string& name : required) {
            if (!properties.contains(name))
                return invalid(place + ".required names " + base::in_quotes(name) + ", which has no schema");
        }
        if (properties.empty()) return write_free_object(schema, place, depth);
        // Behind i members: those that are left when at least one is written already, and when none is.
        // Written from the last to the first.
        std::string with;
        std::string without;
        const auto& members = properties.items();
        for (std::size_t i = members.size(); i-- > 0;) {
            const auto& [key, value] = members[i];
            std::string member_place = place;
            member_place += '.';
            member_place += key;
            CLASP_ASSIGN_OR_RETURN(const std::string rule, sub_rule(value, member_place, depth));
            const bool is_required = std::find(required.begin(), required.end(), key) != required.end();
            const std::string member = new_name();
            CLASP_RETURN_IF_ERROR(add_rule(member, literal(key) + " \":\" ws " + rule, 1));
            // An alternative of nothing is written out: a line must not end with "|".
            const auto or_else = [&](const std::string& rest) {
                return is_required ? "" : rest.empty() ? std::string(R"( | "")") : " |" + rest;
            };
            std::string next = "\",\" ws ";
            next += member;
            next += with;
            next += or_else(with);
            const std::string first = member + with + or_else(without);
            const std::string name_with = new_name();
            const std::string name_without = new_name();
            CLASP_RETURN_IF_ERROR(add_rule(name_with, next, 1));
            CLASP_RETURN_IF_ERROR(add_rule(name_without, first, 1));
            with = " " + name_with;
            without = " " + name_without;
        }
        return "\"{\" ws" + without + " ws \"}\"";
    }

    // An object whose members nobody names.
    Result<std::string> write_free_object(const Json& schema, const std::string& place, std::size_t depth) {
        const Json& more = schema["additionalProperties"];
        if (more == Json(false)) return std::string(R"("{" ws "}")");
        if (more.is_null() || more == Json(true)) return std::string("object");
        CLASP_ASSIGN_OR_RETURN(const std::string rule,
                               sub_rule(more, place + ".additionalProperties", depth));
        const std::string member = new_name();
        CLASP_RETURN_IF_ERROR(add_rule(member, "string \":\" ws " + rule, 1));
        n_rules_ += 3;
        return "\"{\" ws (" + member + " (\",\" ws " + member + ")*)? ws \"}\"";
    }

    Result<std::string> write_array(const Json& schema, const std::string& place, std::size_t depth) {
        const bool is_tuple = schema["items"].is_array() || schema.contains("prefixItems");
        if (is_tuple) return write_tuple(schema, place, depth);
        std::optional<std::size_t> min;
        std::optional<std::size_t> max;
        CLASP_RETURN_IF_ERROR(read_counts(schema, place, "minItems", "maxItems", min, max));
        if (max == 0U) return std::string(R"("[" ws "]")");
        std::string item = "value";
        if (schema.contains("items")) {
            CLASP_ASSIGN_OR_RETURN(item, sub_rule(schema["items"], place + ".items", depth));
        }
        const std::string more = new_name();
        CLASP_RETURN_IF_ERROR(add_rule(more, "\",\" ws " + item, max.value_or(min.value_or(0)) + 3));
        const std::string repeated = more + "{" + std::to_string(min.value_or(0) > 0 ? *min - 1 : 0) + "," +
                                     (max ? std::to_string(*max - 1) : "") + "}";
        const std::string items = item + " " + repeated;
        return "\"[\" ws " + (min.value_or(0) > 0 ? items : "(" + items + ")?") + " ws \"]\"";
    }

    // One schema for each place.
    Result<std::string> write_tuple(const Json& schema, const std::string& place, std::size_t depth) {
        const bool has_prefix = schema.contains("prefixItems");
        const Json& schemas = has_prefix ? schema["prefixItems"] : schema["items"];
        for (const char* word : {"minItems", "maxItems"}) {
            if (schema.contains(word) && schema[word] != Json(schemas.size()))
                return invalid(place + "." + word + " is not the number of schemas of the list");
        }
        if (has_prefix && !(schema["items"].is_null() || schema["items"] == Json(false)))
            return invalid(place + ".items beside prefixItems takes false");
        if (!schemas.is_array()) return invalid(place + ".prefixItems takes a list of schemas");
        std::string text = "\"[\" ws";
        for (std::size_t i = 0; i < schemas.size(); ++i) {
            CLASP_ASSIGN_OR_RETURN(const std::string rule,
                                   sub_rule(schemas[i], place + "[" + std::to_string(i) + "]", depth));
            text += (i == 0 ? " " : " \",\" ws ") + rule;
        }
        return text + " ws \"]\"";
    }

    Result<std::string> write_string(const Json& schema, const std::string& place) {
        std::optional<std::size_t> min;
        std::optional<std::size_t> max;
        CLASP_RETURN_IF_ERROR(read_counts(schema, place, "minLength", "maxLength", min, max));
        if (!min && !max) return std::string("string");
        n_rules_ += max.value_or(min.value_or(0)) + 1;
        return "\"\\\"\" char{" + std::to_string(min.value_or(0)) + "," + (max ? std::to_string(*max) : "") +
               "} \"\\\"\"";
    }

    Status read_counts(const Json& schema, const std::string& place, std::string_view min_word,
                       std::string_view max_word, std::optional<std::size_t>& min,
                       std::optional<std::size_t>& max) const {
        const auto read = [&](std::string_view word, std::optional<std::size_t>& out) -> Status {
            if (!schema.contains(word)) return ok_status();
            out = schema[word].get<std::size_t>();
            const std::string name = place + "." + std::string(word);
            if (!out) return invalid(name + " takes a whole number");
            if (*out <= limits_.max_rules) return ok_status();
            return {Code::TooLarge, name + " is " + std::to_string(*out) + ", more than the limit of " +
                                        std::to_string(limits_.max_rules)};
        };
        CLASP_RETURN_IF_ERROR(read(min_word, min));
        CLASP_RETURN_IF_ERROR(read(max_word, max));
        if (min && max && *min > *max) {
            return invalid(place + "." + std::string(min_word) + " is more than " + std::string(max_word));
        }
        return ok_status();
    }

    static Result<std::string> write_integer(const Json& schema, const std::string& place) {
        std::int64_t low = -kLargestWhole;
        std::int64_t high = kLargestWhole;
        struct Bound {
            std::string_view word;
            std::int64_t shift;
            bool is_low;
        };
        constexpr std::array<Bound, 4> kBounds = {{{"minimum", 0, true},
                                                   {"exclusiveMinimum", 1, true},
                                                   {"maximum", 0, false},
                                                   {"exclusiveMaximum", -1, false}}};
        bool is_bounded = false;
        for (const Bound& bound : kBounds) {
            if (!schema.contains(bound.word)) continue;
            const auto value = schema[bound.word].get<std::int64_t>();
            if (!value || *value < -kLargestWhole || *value > kLargestWhole) {
                return invalid(place + "." + std::string(bound.word) + " takes a whole number of at most " +
                               std::to_string(kMaxDigits) + " digits");
            }
            is_bounded = true;
            if (bound.is_low) {
                low = std::max(low, *value + bound.shift);
            } else {
                high = std::min(high, *value + bound.shift);
            }
        }
        if (!is_bounded) return std::string("whole");
        if (low > high) return invalid(place + ": no whole number is in its range");
        return whole_numbers(low, high);
    }

    const Json& schema_;
    const SchemaLimits& limits_;
    std::string text_;
    std::map<std::string, std::string> references_;  // a place in the schema and the rule for it
    std::deque<std::string> pending_;                // places whose rule is not written yet
    std::size_t n_rules_ = 1;
    std::size_t n_names_ = 0;
};

}  // namespace

Result<std::string> grammar_of_schema(const Json& schema, const SchemaLimits& limits) {
    return SchemaGrammar(schema, limits).write();
}

std::string grammar_of_objects() {
    return "root ::= object\n" + fixed_rules();
}

}  // namespace clasp::request
