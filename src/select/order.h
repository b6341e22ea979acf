// Private. The first few positions of a list in a strict order, without sorting the rest.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace clasp::selection {

// Puts the first count positions of 0 ... n - 1 in the given strict order in front of order, in no order
// among themselves.
template <typename Before>
std::span<const std::uint32_t> first_by(std::size_t n, std::size_t count, Before before,
                                        std::vector<std::uint32_t>& order) {
    order.resize(n);
    std::iota(order.begin(), order.end(), 0U);
    if (count > 0 && count < n) {
        std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count - 1), order.end(),
                         before);
    }
    return std::span(order).first(count);
}

}  // namespace clasp::selection
