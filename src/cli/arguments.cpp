#include "cli/arguments.h"

#include <algorithm>

#include "base/check.h"
#include "base/suggest.h"
#include "base/text.h"
#include "request/option_value.h"

namespace clasp::cli {

namespace {

Status usage_error(std::string message) {
    return {Code::InvalidArgument, std::move(message)};
}

std::string quoted(std::string_view text) {
    return base::path_in_quotes(text);
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
                CLASP_ASSIGN_OR_RETURN(word, request::read_choice(name, positional.choices, word));
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

Result<Arguments> Arguments::parse(std::span<const Option> options, std::span<const Positional> positionals,
                                   std::span<const std::string_view> words) {
    Arguments arguments;
    std::vector<std::string> free_words;
    bool options_ended = false;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string_view word = words[i];
        const bool is_option = word.size() > 1 && word[0] == '-' && !request::parse_number(word);
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
    std::string value;
    if (option.type != OptionType::Flag) {
        CLASP_ASSIGN_OR_RETURN(request::Value read,
                               request::read_text(option, "option --" + std::string(option.name), text));
        value = std::move(read.text);
    }
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
    const auto value = request::parse_integer(text(name));
    CLASP_CHECK(value.has_value());
    return *value;
}

double Arguments::number(std::string_view name) const {
    const auto value = request::parse_number(text(name));
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
