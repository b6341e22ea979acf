// Rows and columns of patches or tokens, in reading order.
#pragma once

#include <cstddef>

namespace clasp {

struct Grid {
    std::size_t height = 0;
    std::size_t width = 0;

    [[nodiscard]] std::size_t size() const { return height * width; }
    friend bool operator==(const Grid&, const Grid&) = default;
};

}  // namespace clasp
