#include "methods/options.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/invalid.h"
#include "base/suggest.h"
#include "base/text.h"

namespace clasp::methods {

namespace {

using base::invalid;

// The choice as the method spells it; letter case is ignored.
std::optional<std::string_view> choice_named(const OptionSpec& spec, std::string_view value) {
    for (const std::string_view choice : spec.choices) {
        if (base::is_same_name(choice, value)) return choice;
    }
    return std::nullopt;
}

Status check_value(std::string_view method, const OptionSpec& spec, std::string_view value) {
    const std::string what = std::string(method) + "'s option " + std::string(spec.name);
    if (spec.type == OptionSpec::Type::Choice) {
        if (choice_named(spec, value)) return ok_status();
        return invalid(what + " is one of " + base::join(spec.choices) + ", not " + base::in_quotes(value) +
                       base::did_you_mean(value, spec.choices));
    }
    const std::optional<double> number = base::parse_double(value);
    const bool is_whole = number && std::floor(*number) == *number;
    if (!number || (spec.type == OptionSpec::Type::Integer && !is_whole)) {
        return invalid(what +
                       (spec.type == OptionSpec::Type::Integer ? " is a whole number" : " is a number") +
                       ", not " + base::in_quotes(value));
    }
    if (*number < spec.min || *number > spec.max) {
        return invalid(what + " is " + std::string(value) + ", outside " + base::format_number(spec.min) +
                       " to " + base::format_number(spec.max));
    }
    return ok_status();
}

}  // namespace

OptionSpec faithful_option(std::string_view fallback) {
    return {.name = "faithful",
            .help = "whom to follow where the authors' paper and code differ",
            .fallback = fallback,
            .choices = {"paper", "code"}};
}

Result<Settings> Settings::read(std::string_view method, std::span<const OptionSpec> specs,
                                std::span<const std::string> given) {
    Settings settings;
    for (const std::string& text : given) {
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos || equals == 0) {
            return invalid("a method's option is written name=value, not " + base::in_quotes(text));
        }
        const std::string name = text.substr(0, equals);
        const std::string value = text.substr(equals + 1);
        const auto spec = std::find_if(specs.begin(), specs.end(), [&](const OptionSpec& candidate) {
            return base::is_same_name(candidate.name, name);
        });
        if (spec == specs.end()) {
            std::vector<std::string_view> names;
            for (const OptionSpec& known : specs) names.push_back(known.name);
            return invalid("method '" + std::string(method) + "' has no option " + base::in_quotes(name) +
                           base::did_you_mean(name, names) +
                           (names.empty() ? "; it has none" : "; it has " + base::join(names)));
        }
        if (settings.values_.contains(spec->name)) {
            return invalid("option " + base::in_quotes(name) + " is given twice");
        }
        CLASP_RETURN_IF_ERROR(check_value(method, *spec, value));
        const auto choice = choice_named(*spec, value);
        settings.values_.emplace(spec->name, choice ? std::string(*choice) : value);
    }
    for (const OptionSpec& spec : specs) settings.values_.try_emplace(std::string(spec.name), spec.fallback);
    return settings;
}

std::string_view Settings::text(std::string_view name) const {
    const auto found = values_.find(name);
    CLASP_CHECK(found != values_.end());
    return found->second;
}

double Settings::number(std::string_view name) const {
    const std::optional<double> value = base::parse_double(text(name));
    CLASP_CHECK(value.has_value());
    return *value;
}

std::size_t Settings::integer(std::string_view name) const {
    return static_cast<std::size_t>(number(name));
}

}  // namespace clasp::methods
