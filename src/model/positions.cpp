#include "model/positions.h"

#include <algorithm>

#include "base/check.h"

namespace clasp::model {

std::int32_t next_position(std::span<const Position> positions, const RopeConfig& rope) {
    CLASP_CHECK(!positions.empty());
    if (rope.n_planes() == 1) return positions.back().planes[0] + 1;
    std::int32_t largest = 0;
    for (const Position& position : positions) {
        largest = std::max(largest, *std::max_element(position.planes.begin(), position.planes.end()));
    }
    return largest + 1;
}

std::vector<std::int32_t> position_table(std::span<const Position> positions, std::size_t n_planes) {
    std::vector<std::int32_t> table;
    table.reserve(positions.size() * n_planes);
    for (std::size_t plane = 0; plane < n_planes; ++plane) {
        for (const Position& position : positions) table.push_back(position.planes[plane]);
    }
    return table;
}

std::vector<Position> grid_offsets(std::span<const std::int32_t> places, std::int32_t grid_width) {
    std::vector<Position> offsets;
    offsets.reserve(places.size());
    for (const std::int32_t place : places) {
        offsets.push_back({{0, place / grid_width, place % grid_width, 0}});
    }
    return offsets;
}

std::int32_t grid_extent(std::int32_t grid_height, std::int32_t grid_width) {
    return std::max(grid_height, grid_width);
}

}  // namespace clasp::model
