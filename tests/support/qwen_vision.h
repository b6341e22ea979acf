// What tests of Qwen's towers share: a loaded random tower, pictures of any shape, and rows in the order of
// the picture instead of the tower's.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/patch_order.h"
#include "model/vision_model.h"
#include "support/random_qwen_mmproj.h"
#include "support/vision_fixture.h"

namespace clasp::test {

using LoadedQwen = LoadedTower;

inline LoadedQwen load_qwen(const QwenMmprojSpec& spec, const model::VisionOptions& options = {},
                            std::size_t n_threads = 1) {
    return load_tower(random_qwen_mmproj(spec), options, n_threads);
}

inline Image random_picture(PixelSize size, std::uint32_t seed) {
    std::mt19937 random(seed);
    Image picture;
    picture.width = size.width;
    picture.height = size.height;
    for (int i = 0; i < 3 * size.width * size.height; ++i) {
        const int pixel = i / 3;
        const double wave =
            100.0 + 80.0 * std::sin(0.05 * (pixel % size.width) + 0.03 * (pixel / size.width) + i % 3);
        picture.rgb.push_back(static_cast<std::uint8_t>(wave + static_cast<double>(random() % 60)));
    }
    return picture;
}

// The one piece of a picture.
inline model::PiecePixels piece_of(const model::VisionModel& model, const Image& picture, Compat compat) {
    const auto plan = model.plan({picture.width, picture.height}, {.compat = compat});
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    auto pieces = model.preprocess(picture, *plan, compat);
    EXPECT_TRUE(pieces.ok()) << pieces.status().message();
    EXPECT_EQ(pieces->size(), 1U);
    return std::move(pieces->front());
}

// Rows that stand in `order`, as patches row by row.
inline std::vector<float> by_picture(std::span<const float> rows, const model::PatchOrder& order,
                                     std::size_t columns, std::size_t width) {
    std::vector<float> patches(rows.size());
    for (std::size_t row = 0; row < order.rows.size(); ++row) {
        const std::size_t patch = static_cast<std::size_t>(order.rows[row].y) * columns +
                                  static_cast<std::size_t>(order.rows[row].x);
        std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(row * width), width,
                    patches.begin() + static_cast<std::ptrdiff_t>(patch * width));
    }
    return patches;
}

}  // namespace clasp::test
