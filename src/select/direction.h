// Private. Lengths of sums of unit vectors, in Gram space.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>

namespace clasp::selection {

// A mean of unit vectors shorter than this has no direction: what is left is rounding error.
inline constexpr double kShortestMean = 1e-3;

// What turns sums[t], the fixed-point similarity of candidate t to the sum of the members' unit vectors,
// into the cosine to its direction: 1 / (one * length). Nothing if the mean has no direction. The
// squared length is the total of sums over the members.
inline std::optional<float> direction_scale(const std::int32_t* sums, std::span<const std::uint32_t> members,
                                            std::int32_t one) {
    std::int64_t total = 0;
    for (const std::uint32_t member : members) total += sums[member];
    const auto unit = static_cast<double>(one);
    const double length = std::sqrt(std::max(0.0, static_cast<double>(total) / unit));
    if (!(length > kShortestMean * static_cast<double>(members.size()))) return std::nullopt;
    return static_cast<float>(1.0 / (unit * length));
}

}  // namespace clasp::selection
