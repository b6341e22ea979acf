// Names that people mistype: which of the names there are was probably meant.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace clasp::base {

// The fewest letters to insert, remove, replace or swap with their neighbour that turn one text into the
// other; letter case is ignored (ASCII).
std::size_t edit_distance(std::string_view a, std::string_view b);

// True when the texts are equal but for the case of ASCII letters.
bool is_same_name(std::string_view a, std::string_view b);

// The name that is nearest to what was typed, if one is near enough to be meant: at most a third of its
// letters differ, or one begins with the other. The first of several that are equally near.
std::optional<std::string_view> closest_name(std::string_view typed, std::span<const std::string_view> names);

// " (did you mean 'fastv'?)", or nothing.
std::string did_you_mean(std::string_view typed, std::span<const std::string_view> names);

}  // namespace clasp::base
