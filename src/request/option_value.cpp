#include "request/option_value.h"

#include <charconv>
#include <cmath>

#include "base/invalid.h"
#include "base/suggest.h"
#include "base/text.h"

namespace clasp::request {

namespace {

using base::invalid;

// " from 1 to 8", " of at least 1", or nothing.
std::string range_text(const Option& option) {
    constexpr int kDigits = 6;
    const auto text = [](double value) { return base::format_number(value, kDigits); };
    const bool has_min = std::isfinite(option.min);
    const bool has_max = std::isfinite(option.max);
    if (has_min && has_max) return " from " + text(option.min) + " to " + text(option.max);
    if (has_min) return " of at least " + text(option.min);
    if (has_max) return " of at most " + text(option.max);
    return "";
}

std::string choices_text(const std::vector<std::string_view>& choices) {
    std::string text;
    for (std::size_t i = 0; i < choices.size(); ++i) {
        if (i > 0) text += i + 1 == choices.size() ? " or " : ", ";
        text += choices[i];
    }
    return text;
}

// What values an option takes, for messages.
std::string taken(const Option& option, bool takes_number) {
    switch (option.type) {
        case OptionType::Flag: return "true or false";
        case OptionType::Integer: return "a whole number" + range_text(option);
        case OptionType::Number: return "a number" + range_text(option);
        case OptionType::Choice: return choices_text(option.choices);
        case OptionType::Text:
        case OptionType::File: break;
    }
    return takes_number ? "a text or a number" : "a text";
}

Status wrong(const Option& option, std::string_view shown, const std::string& got,
             bool takes_number = false) {
    return invalid(std::string(shown) + " takes " + taken(option, takes_number) + ", not " + got);
}

bool is_within(const Option& option, double value) {
    return value >= option.min && value <= option.max;
}

// A JSON value in a message: short, and without what a terminal would obey.
std::string shown_json(const base::Json& json) {
    constexpr std::size_t kLongest = 60;
    if (json.is_array()) return "a list";
    if (json.is_object()) return "an object";
    if (const std::string* text = json.as_string()) return base::in_quotes(*text);
    return base::escaped(base::dump_json_ascii(json), kLongest);
}

}  // namespace

std::optional<long long> parse_integer(std::string_view text) {
    long long value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<double> parse_number(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
        return std::nullopt;
    }
    return value;
}

Result<std::string> read_choice(std::string_view shown, const std::vector<std::string_view>& choices,
                                std::string_view text) {
    for (const std::string_view choice : choices) {
        if (base::is_same_name(choice, text)) return std::string(choice);
    }
    return invalid(std::string(shown) + " takes " + choices_text(choices) + ", not " +
                   base::path_in_quotes(text) + base::did_you_mean(text, choices));
}

Result<Value> read_text(const Option& option, std::string_view shown, std::string_view text) {
    Value value;
    value.text = text;
    switch (option.type) {
        case OptionType::Flag:
            if (text == "true" || text == "false") {
                value.is_on = text == "true";
                return value;
            }
            break;
        case OptionType::Text:
        case OptionType::File:
            if (text.empty()) return invalid(std::string(shown) + " takes a value that is not empty");
            return value;
        case OptionType::Choice: {
            CLASP_ASSIGN_OR_RETURN(value.text, read_choice(shown, option.choices, text));
            return value;
        }
        case OptionType::Integer: {
            const auto parsed = parse_integer(text);
            value.integer = parsed.value_or(0);
            value.number = static_cast<double>(value.integer);
            if (parsed && is_within(option, value.number)) return value;
            break;
        }
        case OptionType::Number: {
            const auto parsed = parse_number(text);
            value.number = parsed.value_or(0.0);
            if (parsed && is_within(option, *parsed)) return value;
            break;
        }
    }
    return wrong(option, shown, base::path_in_quotes(text));
}

Result<Value> read_json(const Option& option, std::string_view shown, const base::Json& json,
                        bool takes_number) {
    Value value;
    switch (option.type) {
        case OptionType::Flag:
            if (json.get_to(value.is_on)) return value;
            break;
        case OptionType::Integer:
            if (json.get_to(value.integer)) {
                value.number = static_cast<double>(value.integer);
                if (is_within(option, value.number)) return value;
            }
            break;
        case OptionType::Number:
            if (json.is_number() && json.get_to(value.number) && std::isfinite(value.number) &&
                is_within(option, value.number)) {
                return value;
            }
            break;
        case OptionType::Choice:
        case OptionType::Text:
        case OptionType::File:
            if (const std::string* text = json.as_string()) return read_text(option, shown, *text);
            if (takes_number && json.is_number() && json.get_to(value.number)) {
                value.text = base::format_exact(value.number);
                return value;
            }
            break;
    }
    return wrong(option, shown, shown_json(json), takes_number);
}

}  // namespace clasp::request
