// Reads a command's arguments against its option table. What comes out has been checked: a getter
// cannot fail, and nothing that the user wrote was ignored.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/status.h"
#include "cli/option.h"

namespace clasp::cli {

class Arguments {
   public:
    // Wrong usage is InvalidArgument with a message that names the option and what it takes.
    // "--name value" and "--name=value" are the same, and so are "-n value" and "-nvalue" for an option
    // with a letter; "--" ends the options. Letter case is ignored in choices. With a repeatable positional
    // in front of single ones, the last words go to the last positionals.
    static Result<Arguments> parse(std::span<const Option> options, std::span<const Positional> positionals,
                                   std::span<const std::string_view> words);

    // True if the user gave the option (not if only its default applies).
    [[nodiscard]] bool is_given(std::string_view name) const;
    [[nodiscard]] bool flag(std::string_view name) const { return is_given(name); }

    // The value given, else the default. Absent when there is neither.
    [[nodiscard]] std::optional<std::string> text_if(std::string_view name) const;
    // For options that are required or have a default.
    [[nodiscard]] std::string text(std::string_view name) const;
    [[nodiscard]] long long integer(std::string_view name) const;
    [[nodiscard]] double number(std::string_view name) const;
    [[nodiscard]] const std::vector<std::string>& all(std::string_view name) const;

    [[nodiscard]] const std::vector<std::string>& positional(std::string_view name) const;

   private:
    Status give(const Option& option, std::string_view text);

    std::map<std::string, std::vector<std::string>, std::less<>> given_;
    std::map<std::string, std::string, std::less<>> fallbacks_;
    std::map<std::string, std::vector<std::string>, std::less<>> positionals_;
};

}  // namespace clasp::cli
