// Where a token stands: one number, or three (time, row, column) for decoders whose rotation has planes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/text_rope.h"

namespace clasp::model {

// Decoders without planes read the first entry alone. The fourth plane is ggml's and always 0.
struct Position {
    std::array<std::int32_t, 4> planes = {};

    friend bool operator==(const Position&, const Position&) = default;
};

// Of a text token: the same in all planes.
constexpr Position text_position(std::int32_t place) {
    return {{place, place, place, 0}};
}

// A position counted from `start`.
constexpr Position shifted(const Position& offset, std::int32_t start) {
    return {{start + offset.planes[0], start + offset.planes[1], start + offset.planes[2], 0}};
}

// What a text token after these takes: one more than the last; with planes, one more than the largest.
std::int32_t next_position(std::span<const Position> positions, const RopeConfig& rope);

// The input of a graph: one plane after the other, n_planes x positions.size().
std::vector<std::int32_t> position_table(std::span<const Position> positions, std::size_t n_planes);

// A picture as grid of tokens, row by row, beginning at 0: all at one time, each in its row and column.
// Places are token numbers of the grid; after the picture comes grid_extent().
std::vector<Position> grid_offsets(std::span<const std::int32_t> places, std::int32_t grid_width);
std::int32_t grid_extent(std::int32_t grid_height, std::int32_t grid_width);

}  // namespace clasp::model
