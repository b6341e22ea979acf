// Options of methods, described as data: the command line, its help, the checks and the reference all come
// from that description.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/status.h"

namespace clasp::methods {

struct OptionSpec {
    enum class Type : std::uint8_t { Choice, Integer, Number };

    std::string_view name;      // "faithful"
    std::string_view help;      // one sentence without a full stop
    std::string_view fallback;  // the default as text; "" for a number means: the method derives it
    Type type = Type::Choice;
    std::vector<std::string_view> choices = {};  // of a Choice
    double min = -std::numeric_limits<double>::infinity();
    double max = std::numeric_limits<double>::infinity();
};

// `faithful=paper|code`: whom to follow where the authors' paper and code differ.
OptionSpec faithful_option(std::string_view fallback = "code");

// The values of one method's options, checked. Asking for a name that the method does not describe, or as
// another type, is a bug.
class Settings {
   public:
    // given holds "name=value" texts; letter case is ignored in names and choices. Errors (invalid_argument):
    // no '=', a name that the method does not have (the message lists those it has), a name twice, a value
    // outside its range or choices.
    static Result<Settings> read(std::string_view method, std::span<const OptionSpec> specs,
                                 std::span<const std::string> given);

    [[nodiscard]] std::string_view text(std::string_view name) const;
    [[nodiscard]] bool is(std::string_view name, std::string_view value) const { return text(name) == value; }
    // Whether there is a value: a number may be left to the method.
    [[nodiscard]] bool has(std::string_view name) const { return !text(name).empty(); }
    [[nodiscard]] double number(std::string_view name) const;
    [[nodiscard]] std::size_t integer(std::string_view name) const;

   private:
    std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace clasp::methods
