#include "cli/arguments.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "base/check.h"
#include "base/suggest.h"
#include "base/text.h"

namespace clasp::cli {

namespace {

Status usage_error(std::string message) {
    return {Code::InvalidArgument, std::move(message)};
}

std::string quoted(std::string_view text) {
    return base::path_in_quotes(text);
}

std::string number_text(double value) {
    return base::format_number(value, 6);
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

std::string choices_text(std::span<const std::string_view> choices) {
    std::string text;
    for (std::size_t i = 0; i < choices.size(); ++i) {
        if (i > 0) text += i + 1 == choices.size() ? " or " : ", ";
        text += choices[i];
    }
    return text;
}

// The choice as the table spells it; letter case is ignored.
Result<std::string> read_choice(const std::string& name, std::span<const std::string_view> choices,
                                std::string_view value) {
    for (const std::string_view choice : choices) {
        if (base::is_same_name(choice, value)) return std::string(choice);
    }
    return usage_error(name + " takes " + choices_text(choices) + ", not " + quoted(value) +
                       base::did_you_mean(value, choices));
}

// The value as the command sees it.
Result<std::string> read_value(const Option& option, std::string_view value) {
    const std::string name = "option --" + std::string(option.name);
    switch (option.type) {
        case OptionType::Flag: break;
        case OptionType::Text:
        case OptionType::File:
            if (value.empty()) return usage_error(name + " takes a value that is not empty");
            break;
        case OptionType::Choice: return read_choice(name, option.choices, value);
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
    return std::string(value);
}

using Words = std::map<std::string, std::vector<std::string>, std::less<>>;

// Gives the words to the positionals: each gets its minimum, the first that may take more takes them.
Result<Words> share_out(std::span<const Positional> positionals, const std::vector<std::string>& words) {
    std::size_t needed = 0;
    for (const Positional& positional : positionals) needed += positional.min_count;
    std::size_t extra = words.size() > needed ? words.size() - needed : 0;
    Words shared;
    std::size_t next = 0;
    for (const Positional& positional : positionals) {
        const std::string name(positional.name);
        std::vector<std::string>& mine = shared[name];
        const std::size_t more = std::min(extra, positional.max_count - positional.min_count);
        extra -= more;
        for (std::size_t i = 0; i < positional.min_count + more; ++i) {
            if (next >= words.size()) {
                return usage_error("missing " + name + " (" + std::string(positional.help) + ")");
            }
            std::string word = words[next++];
            if (!positional.choices.empty()) {
                CLASP_ASSIGN_OR_RETURN(word, read_choice(name, positional.choices, word));
            }
            mine.push_back(std::move(word));
        }
    }
    if (next < words.size()) return usage_error("unexpected argument " + quoted(words[next]));
    return shared;
}

// An option as it was written, with its value if that stands in the same word.
struct Written {
    const Option* option = nullptr;
    std::string name;  // with its dashes
    std::optional<std::string_view> value = std::nullopt;
};

const Option* find_short(std::span<const Option> options, char letter) {
    const auto option = std::find_if(options.begin(), options.end(),
                                     [letter](const Option& o) { return o.short_name == letter; });
    return option == options.end() ? nullptr : &*option;
}

Status unknown_option(std::span<const Option> options, std::string_view typed) {
    std::vector<std::string> names;
    for (const Option& option : options) names.push_back("--" + std::string(option.name));
    const std::vector<std::string_view> views(names.begin(), names.end());
    std::string message = "unknown option " + base::printable(typed, 64);
    if (const std::string meant = base::did_you_mean(typed, views); !meant.empty())
        return usage_error(message + meant);
    // "-budget": one dash too few.
    if (typed.size() > 2 && typed[1] != '-') {
        const std::string meant = base::did_you_mean("-" + std::string(typed), views);
        if (!meant.empty()) return usage_error(message + meant);
    }
    return usage_error(std::move(message));
}

// "--name" or "--name=value".
Result<std::vector<Written>> read_long(std::span<const Option> options, std::string_view word) {
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(2, equals == std::string_view::npos ? equals : equals - 2);
    const auto option =
        std::find_if(options.begin(), options.end(), [&](const Option& o) { return o.name == name; });
    if (option == options.end()) return unknown_option(options, word.substr(0, equals));
    Written written = {&*option, "--" + std::string(name)};
    if (equals != std::string_view::npos) written.value = word.substr(equals + 1);
    return std::vector<Written>{written};
}

// "-b", "-b64", or flags one after the other: "-jh".
Result<std::vector<Written>> read_short(std::span<const Option> options, std::string_view word) {
    std::vector<Written> all;
    for (std::size_t i = 1; i < word.size(); ++i) {
        const Option* option = find_short(options, word[i]);
        if (option == nullptr) return unknown_option(options, word);
        Written written = {option, std::string("-") + word[i]};
        if (option->type != OptionType::Flag && i + 1 < word.size()) {
            written.value = word.substr(i + 1);
            i = word.size();
        }
        all.push_back(written);
    }
    return all;
}

// Whether a word is an option of the table, so that it was hardly meant as a value.
bool names_option(std::span<const Option> options, std::string_view word) {
    if (word.size() == 2 && word[0] == '-') return find_short(options, word[1]) != nullptr;
    return std::any_of(options.begin(), options.end(), [word](const Option& option) {
        return word.starts_with("--") && word.substr(2) == option.name;
    });
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
        const std::string_view word = words[i];
        const bool is_option = word.size() > 1 && word[0] == '-' && !parse_number(word);
        if (options_ended || !is_option) {
            free_words.emplace_back(word);
            continue;
        }
        if (word == "--") {
            options_ended = true;
            continue;
        }
        CLASP_ASSIGN_OR_RETURN(const std::vector<Written> all,
                               word.starts_with("--") ? read_long(options, word) : read_short(options, word));
        for (const Written& written : all) {
            std::optional<std::string_view> value = written.value;
            const bool is_flag = written.option->type == OptionType::Flag;
            if (is_flag && value) return usage_error("option " + written.name + " takes no value");
            if (!is_flag && !value) {
                if (i + 1 == words.size()) {
                    return usage_error("option " + written.name + " needs a value " +
                                       std::string(written.option->value));
                }
                if (names_option(options, words[i + 1])) {
                    return usage_error("option " + written.name + " needs a value " +
                                       std::string(written.option->value) + ", and " +
                                       std::string(words[i + 1]) + " is an option itself");
                }
                value = words[++i];
            }
            CLASP_RETURN_IF_ERROR(arguments.give(*written.option, value.value_or("")));
        }
    }
    for (const Option& option : options) {
        if (!option.fallback.empty()) arguments.fallbacks_[std::string(option.name)] = option.fallback;
        if (option.is_required && !arguments.is_given(option.name)) {
            return usage_error("option --" + std::string(option.name) + " " + std::string(option.value) +
                               " is required (" + std::string(option.help) + ")");
        }
    }
    CLASP_ASSIGN_OR_RETURN(arguments.positionals_, share_out(positionals, free_words));
    return arguments;
}

Status Arguments::give(const Option& option, std::string_view text) {
    CLASP_ASSIGN_OR_RETURN(std::string value, read_value(option, text));
    std::vector<std::string>& values = given_[std::string(option.name)];
    if (!values.empty() && !option.is_repeatable) {
        return usage_error("option --" + std::string(option.name) + " was given twice");
    }
    values.push_back(std::move(value));
    return ok_status();
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
