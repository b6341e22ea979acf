// Private. Lengths of sums of unit vectors, in Gram space.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>

namespace clasp::selection {

// A mean of unit vectors shorter than this has no direction: what is left is rounding error.
inline constexpr double kShortestMean = 1e-3;

// 1 / length of the sum of the members' unit vectors, or nothing if their mean has no direction.
// sums[t] is the similarity of candidate t to the sum, so the squared length is the total of sums
// over the members.
inline std::optional<float> direction_scale(const float* sums, std::span<const std::uint32_t> members) {
    double squared_length = 0;
    for (const std::uint32_t member : members) squared_length += static_cast<double>(sums[member]);
    const double shortest = kShortestMean * static_cast<double>(members.size());
    if (!(squared_length > shortest * shortest)) return std::nullopt;
    return static_cast<float>(1.0 / std::sqrt(squared_length));
}

}  // namespace clasp::selection
