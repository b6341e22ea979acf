// Writing systems, as far as the router tells them apart.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace clasp::route {

enum class Script : std::uint8_t {
    Latin,
    Han,
    Kana,
    Cyrillic,
    Greek,
    Hebrew,
    Arabic,
    Devanagari,
    Bengali,
    Tamil,
    Telugu,
    Thai,
    Hangul,
    Other,
};
inline constexpr std::size_t kN_Scripts = static_cast<std::size_t>(Script::Other) + 1;

Script script_of(char32_t letter);
std::string_view script_name(Script script);
std::optional<Script> script_named(std::string_view name);

}  // namespace clasp::route
