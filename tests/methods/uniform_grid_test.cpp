#include "methods/uniform_grid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "token_case.h"

namespace clasp::methods {
namespace {

using namespace testing;

TEST(UniformShape, IsTheRectangleAsSpecified) {
    EXPECT_EQ(uniform_shape(24, 24, 192), std::vector<std::size_t>(16, 12));
    EXPECT_EQ(uniform_shape(24, 24, 128), std::vector<std::size_t>(16, 8));
    EXPECT_EQ(uniform_shape(24, 24, 64), std::vector<std::size_t>(8, 8));
    EXPECT_EQ(uniform_shape(24, 24, 144), std::vector<std::size_t>(12, 12));
    EXPECT_EQ(uniform_shape(12, 24, 72), std::vector<std::size_t>(6, 12));
}

TEST(UniformShape, AddsUpForEveryBudget) {
    for (const auto& [rows, columns] :
         {std::pair<std::size_t, std::size_t>{24, 24}, {7, 5}, {1, 9}, {9, 1}}) {
        for (std::size_t keep = 1; keep <= rows * columns; ++keep) {
            const std::vector<std::size_t> shape = uniform_shape(rows, columns, keep);
            EXPECT_LE(shape.size(), rows);
            EXPECT_LE(*std::max_element(shape.begin(), shape.end()), columns);
            EXPECT_GE(*std::min_element(shape.begin(), shape.end()), 1U);
            EXPECT_EQ(std::accumulate(shape.begin(), shape.end(), std::size_t{0}), keep);
        }
    }
}

TEST(UniformGrid, PoolingRangesAreThoseOfAdaptivePooling) {
    const auto plan = uniform_grid(24, 24, 192, UniformMode::Pool);
    ASSERT_TRUE(plan.ok());
    // Rows of the first column of cells: 0-1, 1-2, 3-4, 4-5, ...
    for (std::size_t i = 0; i < 16; ++i) {
        const auto sources = plan->sources(i * 12);
        const std::size_t begin = i * 3 / 2;
        EXPECT_EQ(sources.front().row, begin * 24);
        EXPECT_EQ(sources.back().row, (begin + 1) * 24 + 1);
        EXPECT_EQ(sources.size(), 4U);
    }
}

TEST(UniformGrid, PoolingTakesMeans) {
    const std::vector<float> features = random_numbers(16 * 3, 1);
    const auto plan = uniform_grid(4, 4, 4, UniformMode::Pool);
    const Rows patches = as_rows(features, 3);
    Rows expected;
    for (const std::size_t first : {0U, 2U, 8U, 10U}) {
        Row mean(3, 0.0);
        for (const std::size_t patch : {first, first + 1, first + 4, first + 5})
            add(mean, 0.25, patches[patch]);
        expected.push_back(mean);
    }
    expect_near(applied(*plan, as_rows(features, 3)), expected);
}

TEST(UniformGrid, LatticeTakesTheMiddlesOfItsCells) {
    // Rows round((i + 1/2) * 24 / 8 - 1/2) = 1, 4, 7, ... and columns alike.
    const auto plan = uniform_grid(24, 24, 64, UniformMode::Lattice);
    ASSERT_TRUE(plan.ok());
    for (std::size_t i = 0; i < 8; ++i) {
        for (std::size_t j = 0; j < 8; ++j) {
            EXPECT_EQ(plan->kept[i * 8 + j], (3 * i + 1) * 24 + 3 * j + 1);
        }
    }
}

TEST(UniformGrid, StrideTakesEveryNth) {
    EXPECT_EQ(uniform_grid(4, 5, 6, UniformMode::Stride)->kept,
              (std::vector<TokenIndex>{0, 3, 6, 9, 12, 15}));
}

TEST(UniformGrid, RefusesEmptyAndHugeGrids) {
    EXPECT_FALSE(uniform_grid(0, 5, 6, UniformMode::Pool).ok());
    EXPECT_FALSE(uniform_grid(4, 5, 0, UniformMode::Pool).ok());
    EXPECT_EQ(uniform_grid(std::size_t{1} << 40, std::size_t{1} << 40, 6, UniformMode::Pool).status().code(),
              Code::TooLarge);
}

}  // namespace
}  // namespace clasp::methods
