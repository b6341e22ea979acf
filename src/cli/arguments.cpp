#include "cli/arguments.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "base/check.h"

namespace clasp::cli {

namespace {

Status usage_error(std::string message) {
    return {Code::InvalidArgument, std::move(message)};
}

std::string quoted(std::string_view text) {
    return "'" + std::string(text) + "'";
}

std::string number_text(double value) {
    std::ostringstream out;
    out << value;
    return out.str();
}

// " from 1 to 8", " of at least 1", or nothing.
std::string range_text(const Option& option) {
    const bool has_min = std::isfinite(option.min);
    const bool has_max = std::isfinite(option.max);
    if (has_min && has_max) return " from " + number_text(option.min) + " to " + number_text(option.max);
    if (has_min) return " of at least " + number_text(option.min);
    if (has_max) return " of at most " + number_text(option.max);
    return "";
}

std::string choices_text(const Option& option) {
    std::string text;
    for (std::size_t i = 0; i < option.choices.size(); ++i) {
        if (i > 0) text += i + 1 == option.choices.size() ? " or " : ", ";
        text += option.choices[i];
    }
    return text;
}

Status check_value(const Option& option, std::string_view value) {
    const std::string name = "option --" + std::string(option.name);
    switch (option.type) {
        case OptionType::Flag: break;
        case OptionType::Text:
        case OptionType::File:
            if (value.empty()) return usage_error(name + " takes a value that is not empty");
            break;
        case OptionType::Choice:
            if (std::find(option.choices.begin(), option.choices.end(), value) == option.choices.end()) {
                return usage_error(name + " takes " + choices_text(option) + ", not " + quoted(value));
            }
            break;
        case OptionType::Integer: {
            const auto parsed = parse_integer(value);
            if (!parsed || static_cast<double>(*parsed) < option.min ||
                static_cast<double>(*parsed) > option.max) {
                return usage_error(name + " takes a whole number" + range_text(option) + ", not " +
                                   quoted(value));
            }
            break;
        }
        case OptionType::Number: {
            const auto parsed = parse_number(value);
            if (!parsed || *parsed < option.min || *parsed > option.max) {
                return usage_error(name + " takes a number" + range_text(option) + ", not " + quoted(value));
            }
            break;
        }
    }
    return ok_status();
}

// Gives the words to the positionals: each gets its minimum, the first that may take more takes them.
Result<std::map<std::string, std::vector<std::string>, std::less<>>> share_out(
    std::span<const Positional> positionals, const std::vector<std::string>& words) {
    std::size_t needed = 0;
    for (const Positional& positional : positionals) needed += positional.min_count;
    std::size_t extra = words.size() > needed ? words.size() - needed : 0;
    std::map<std::string, std::vector<std::string>, std::less<>> shared;
    std::size_t next = 0;
    for (const Positional& positional : positionals) {
        std::vector<std::string>& mine = shared[std::string(positional.name)];
        const std::size_t more = std::min(extra, positional.max_count - positional.min_count);
        extra -= more;
        for (std::size_t i = 0; i < positional.min_count + more; ++i) {
            if (next >= words.size()) return usage_error("missing " + std::string(positional.name));
            mine.push_back(words[next++]);
        }
    }
    if (next < words.size()) return usage_error("unexpected argument " + quoted(words[next]));
    return shared;
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

Result<Arguments> Arguments::parse(std::span<const Option> options, std::span<const Positional> positionals,
                                   std::span<const std::string_view> words) {
    Arguments arguments;
    std::vector<std::string> free_words;
    bool options_ended = false;
    for (std::size_t i = 0; i < words.size(); ++i) {
        std::string_view word = words[i];
        if (options_ended || !word.starts_with("--")) {
            if (!options_ended && word.size() > 1 && word[0] == '-' && !parse_number(word)) {
                return usage_error("unknown option " + quoted(word) + " (options start with two dashes)");
            }
            free_words.emplace_back(word);
            continue;
        }
        if (word == "--") {
            options_ended = true;
            continue;
        }
        word.remove_prefix(2);
        const std::size_t equals = word.find('=');
        const std::string_view name = word.substr(0, equals);
        const auto option =
            std::find_if(options.begin(), options.end(), [&](const Option& o) { return o.name == name; });
        if (option == options.end()) return usage_error("unknown option --" + std::string(name));
        std::string_view value;
        if (option->type == OptionType::Flag) {
            if (equals != std::string_view::npos) {
                return usage_error("option --" + std::string(name) + " takes no value");
            }
        } else if (equals != std::string_view::npos) {
            value = word.substr(equals + 1);
        } else if (i + 1 < words.size()) {
            value = words[++i];
        } else {
            return usage_error("option --" + std::string(name) + " needs a value " +
                               std::string(option->value));
        }
        CLASP_RETURN_IF_ERROR(check_value(*option, value));
        std::vector<std::string>& values = arguments.given_[std::string(name)];
        if (!values.empty() && !option->is_repeatable) {
            return usage_error("option --" + std::string(name) + " was given twice");
        }
        values.emplace_back(value);
    }
    for (const Option& option : options) {
        if (!option.fallback.empty()) arguments.fallbacks_[std::string(option.name)] = option.fallback;
        if (option.is_required && !arguments.is_given(option.name)) {
            return usage_error("option --" + std::string(option.name) + " is required");
        }
    }
    CLASP_ASSIGN_OR_RETURN(arguments.positionals_, share_out(positionals, free_words));
    return arguments;
}

bool Arguments::is_given(std::string_view name) const {
    return given_.find(name) != given_.end();
}

std::optional<std::string> Arguments::text_if(std::string_view name) const {
    if (const auto it = given_.find(name); it != given_.end()) return it->second.front();
    if (const auto it = fallbacks_.find(name); it != fallbacks_.end()) return it->second;
    return std::nullopt;
}

std::string Arguments::text(std::string_view name) const {
    const auto value = text_if(name);
    CLASP_CHECK(value.has_value());
    return *value;
}

long long Arguments::integer(std::string_view name) const {
    const auto value = parse_integer(text(name));
    CLASP_CHECK(value.has_value());
    return *value;
}

double Arguments::number(std::string_view name) const {
    const auto value = parse_number(text(name));
    CLASP_CHECK(value.has_value());
    return *value;
}

const std::vector<std::string>& Arguments::all(std::string_view name) const {
    static const std::vector<std::string> kNone;
    const auto it = given_.find(name);
    return it == given_.end() ? kNone : it->second;
}

const std::vector<std::string>& Arguments::positional(std::string_view name) const {
    static const std::vector<std::string> kNone;
    const auto it = positionals_.find(name);
    return it == positionals_.end() ? kNone : it->second;
}

}  // namespace clasp::cli
