// The order of rows inside towers that merge patches and look at windows.
#include "model/patch_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

namespace clasp::model {
namespace {

PieceShape shape_of(std::size_t token_rows, std::size_t token_columns) {
    return {.patches = {2 * token_rows, 2 * token_columns}, .n_prefix = 0, .merge = 2};
}

std::vector<std::pair<int, int>> places_of(const PatchOrder& order) {
    std::vector<std::pair<int, int>> places;
    for (const PatchOrder::Place place : order.rows) places.emplace_back(place.y, place.x);
    return places;
}

TEST(PatchOrder, PutsThePatchesOfATokenTogether) {
    const PatchOrder order = patch_order(shape_of(2, 2), 0);
    EXPECT_THAT(places_of(order),
                testing::ElementsAre(std::pair{0, 0}, std::pair{0, 1}, std::pair{1, 0}, std::pair{1, 1},
                                     std::pair{0, 2}, std::pair{0, 3}, std::pair{1, 2}, std::pair{1, 3},
                                     std::pair{2, 0}, std::pair{2, 1}, std::pair{3, 0}, std::pair{3, 1},
                                     std::pair{2, 2}, std::pair{2, 3}, std::pair{3, 2}, std::pair{3, 3}));
    EXPECT_THAT(order.tokens, testing::ElementsAre(0, 1, 2, 3));
    ASSERT_EQ(order.windows.size(), 1U);
    EXPECT_EQ(order.windows[0].n_rows, 16U);
}

TEST(PatchOrder, WindowsOfFiveRowsAndSixColumns) {
    const PatchOrder order = patch_order(shape_of(5, 6), 4);
    EXPECT_THAT(order.tokens, testing::ElementsAre(0, 1, 2, 3, 6, 7, 8, 9, 12, 13, 14, 15, 18, 19, 20, 21,  //
                                                   4, 5, 10, 11, 16, 17, 22, 23,                            //
                                                   24, 25, 26, 27,                                          //
                                                   28, 29));
    std::vector<std::size_t> sizes;
    for (const WindowRun& run : order.windows) {
        EXPECT_EQ(run.n_windows, 1U);
        sizes.push_back(run.n_rows);
    }
    EXPECT_THAT(sizes, testing::ElementsAre(64, 32, 16, 8));
}

TEST(PatchOrder, WindowsOfAPhotograph) {
    std::vector<std::size_t> sizes;
    for (const TokenWindow& window : token_windows({17, 23}, 4)) {
        sizes.push_back(4 * window.size.height * window.size.width);
    }
    std::vector<std::size_t> wanted;
    for (int row = 0; row < 4; ++row) wanted.insert(wanted.end(), {64, 64, 64, 64, 64, 48});
    wanted.insert(wanted.end(), {16, 16, 16, 16, 16, 12});
    EXPECT_EQ(sizes, wanted);
    // The tower has them by their size, so that windows alike are one operation.
    const PatchOrder order = patch_order(shape_of(17, 23), 4);
    ASSERT_EQ(order.windows.size(), 4U);
    EXPECT_EQ(order.windows[0].n_windows, 20U);
    EXPECT_EQ(order.windows[1].n_rows, 48U);
    EXPECT_EQ(order.windows[1].first_row, 20U * 64U);
    EXPECT_EQ(order.windows[2].n_windows, 5U);
    EXPECT_EQ(order.windows[3].n_rows, 12U);
}

// For every grid: each patch once, windows whole, and the inverse is one.
TEST(PatchOrder, IsAPermutationWhoseWindowsAreRunsOfRows) {
    for (std::size_t rows = 1; rows <= 10; ++rows) {
        for (std::size_t columns = 1; columns <= 10; ++columns) {
            for (const std::size_t side : {0U, 1U, 3U, 4U}) {
                const PatchOrder order = patch_order(shape_of(rows, columns), side);
                const auto places = places_of(order);
                EXPECT_EQ(std::set(places.begin(), places.end()).size(), 4 * rows * columns);
                EXPECT_EQ(places.size(), 4 * rows * columns);
                const std::vector<std::int32_t> groups = groups_of_tokens(order);
                for (std::size_t token = 0; token < groups.size(); ++token) {
                    EXPECT_EQ(order.tokens[static_cast<std::size_t>(groups[token])],
                              static_cast<std::int32_t>(token));
                }
                EXPECT_LE(order.windows.size(), 4U);
                std::size_t next = 0;
                for (const WindowRun& run : order.windows) {
                    EXPECT_EQ(run.first_row, next);
                    for (std::size_t window = 0; window < run.n_windows; ++window) {
                        std::set<std::pair<int, int>> corners;
                        for (std::size_t i = 0; i < run.n_rows; ++i, ++next) {
                            const auto pixels = side == 0 ? 1000 : 2 * static_cast<int>(side);
                            corners.insert({places[next].first / pixels, places[next].second / pixels});
                        }
                        EXPECT_EQ(corners.size(), 1U);
                    }
                }
                EXPECT_EQ(next, places.size());
            }
        }
    }
}

}  // namespace
}  // namespace clasp::model
