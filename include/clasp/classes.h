// The nine question classes of the paper's hyper-parameter table, by id. A policy may define others.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace clasp {

inline constexpr std::array<std::string_view, 9> kClassNames = {
    "Object identification",
    "Attribute / breed identification",
    "Text / symbol recognition",
    "Scene understanding",
    "Spatial relations",
    "Counting",
    "Action / interaction",
    "Intention / function",
    "Default",
};

// Where a question goes whose class is uncertain.
inline constexpr std::size_t kDefaultClass = 8;

}  // namespace clasp
