#include "model/positions.h"

#include <gtest/gtest.h>

#include <vector>

namespace clasp::model {
namespace {

// Five text tokens, then two rows of three: the example of the Qwen2-VL authors.
TEST(Positions, APictureIsAGridAtOneTime) {
    const std::vector<std::int32_t> places = {0, 1, 2, 3, 4, 5};
    std::vector<Position> positions;
    for (std::int32_t i = 0; i < 5; ++i) positions.push_back(text_position(i));
    for (const Position& offset : grid_offsets(places, 3)) positions.push_back(shifted(offset, 5));
    EXPECT_EQ(position_table(std::span(positions).subspan(5), 4),
              (std::vector<std::int32_t>{5, 5, 5, 5, 5, 5,  // time
                                         5, 5, 5, 6, 6, 6,  // row
                                         5, 6, 7, 5, 6, 7,  // column
                                         0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(next_position(positions, {.kind = RopeKind::Mrope}), 8);
    EXPECT_EQ(5 + grid_extent(2, 3), 8);
    EXPECT_EQ(5 + grid_extent(7, 3), 12);
}

TEST(Positions, WithoutPlanesTheLastOneCounts) {
    const std::vector<Position> positions = {text_position(0), text_position(9), text_position(4)};
    EXPECT_EQ(next_position(positions, {.kind = RopeKind::Neox}), 5);
    EXPECT_EQ(next_position(positions, {.kind = RopeKind::Imrope}), 10);
    EXPECT_EQ(position_table(positions, 1), (std::vector<std::int32_t>{0, 9, 4}));
}

TEST(Positions, DroppedTokensLeaveTheOthersWhereTheyAre) {
    const std::vector<std::int32_t> places = {1, 7, 11};
    EXPECT_EQ(grid_offsets(places, 4),
              (std::vector<Position>{{{0, 0, 1, 0}}, {{0, 1, 3, 0}}, {{0, 2, 3, 0}}}));
}

}  // namespace
}  // namespace clasp::model
