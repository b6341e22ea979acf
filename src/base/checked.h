// Arithmetic on sizes that come from outside: overflow is an answer, not a wrap.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>

namespace clasp::base {

inline std::optional<std::size_t> checked_multiply(std::size_t a, std::size_t b) {
    if (a != 0 && b > std::numeric_limits<std::size_t>::max() / a) return std::nullopt;
    return a * b;
}

inline std::optional<std::size_t> checked_add(std::size_t a, std::size_t b) {
    if (b > std::numeric_limits<std::size_t>::max() - a) return std::nullopt;
    return a + b;
}

}  // namespace clasp::base
