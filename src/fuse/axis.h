// One axis of a grid mapped to another length. Private to fuse.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "clasp/fuse.h"

namespace clasp::fuse {

struct AxisTap {
    std::size_t index = 0;  // on the old axis
    double weight = 0.0;    // above 0; the taps of one new cell sum to 1
};

class AxisMap {
   public:
    // Both lengths are at least 1.
    AxisMap(std::size_t from, std::size_t to, Upsample upsample);

    [[nodiscard]] std::span<const AxisTap> taps(std::size_t cell) const {
        return std::span(taps_).subspan(begin_[cell], begin_[cell + 1] - begin_[cell]);
    }
    [[nodiscard]] std::size_t most_taps() const;

   private:
    void add_bilinear(std::size_t from, std::size_t to, std::size_t cell);
    void add_area(std::size_t from, std::size_t to, std::size_t cell);

    std::vector<AxisTap> taps_;
    std::vector<std::size_t> begin_;  // to + 1 entries
};

}  // namespace clasp::fuse
