#include "fuse/axis.h"

#include <algorithm>

namespace clasp::fuse {

AxisMap::AxisMap(std::size_t from, std::size_t to, Upsample upsample) {
    begin_.reserve(to + 1);
    begin_.push_back(0);
    for (std::size_t cell = 0; cell < to; ++cell) {
        if (from == to) {
            taps_.push_back({cell, 1.0});
        } else if (from > to) {
            add_area(from, to, cell);
        } else if (upsample == Upsample::Nearest) {
            // The old cell that holds the new centre: floor((cell + 1/2) from / to).
            taps_.push_back({(2 * cell + 1) * from / (2 * to), 1.0});
        } else {
            add_bilinear(from, to, cell);
        }
        begin_.push_back(taps_.size());
    }
}

std::size_t AxisMap::most_taps() const {
    std::size_t most = 0;
    for (std::size_t cell = 0; cell + 1 < begin_.size(); ++cell)
        most = std::max(most, begin_[cell + 1] - begin_[cell]);
    return most;
}

// The new centre lies at (cell + 1/2) from / to - 1/2 on the old axis; the edges repeat.
void AxisMap::add_bilinear(std::size_t from, std::size_t to, std::size_t cell) {
    const double ratio = static_cast<double>(from) / static_cast<double>(to);
    const double at =
        std::clamp((static_cast<double>(cell) + 0.5) * ratio - 0.5, 0.0, static_cast<double>(from - 1));
    const auto below = static_cast<std::size_t>(at);
    const double above = at - static_cast<double>(below);
    taps_.push_back({below, 1.0 - above});
    if (above > 0.0) taps_.push_back({below + 1, above});
}

// Measured in units of 1 / (from to) of the axis, the new cell spans [cell from, (cell + 1) from) and the
// old cell i spans [i to, (i + 1) to): whole numbers, so the overlaps are exact.
void AxisMap::add_area(std::size_t from, std::size_t to, std::size_t cell) {
    const std::size_t start = cell * from;
    const std::size_t end = start + from;
    for (std::size_t i = start / to; i * to < end; ++i) {
        const std::size_t overlap = std::min(end, (i + 1) * to) - std::max(start, i * to);
        taps_.push_back({i, static_cast<double>(overlap) / static_cast<double>(from)});
    }
}

}  // namespace clasp::fuse
