// What the vision tests share: a loaded random tower with one session, and a measure of error.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/vision_model.h"
#include "support/random_mmproj.h"

namespace clasp::test {

inline std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

// Largest difference over the largest value: one number for a whole tensor.
template <typename A, typename B>
double relative_error(const std::vector<A>& got, const std::vector<B>& wanted) {
    EXPECT_EQ(got.size(), wanted.size());
    double worst = 0.0;
    double top = 0.0;
    for (std::size_t i = 0; i < std::min(got.size(), wanted.size()); ++i) {
        worst = std::max(worst, std::abs(static_cast<double>(got[i]) - static_cast<double>(wanted[i])));
        top = std::max(top, std::abs(static_cast<double>(wanted[i])));
    }
    return worst / top;
}

// The pixels of a square picture of the tower's own size, as its one piece.
inline model::PiecePixels whole_piece(const model::VisionModel& model, std::vector<float> values) {
    const auto side = static_cast<int>(model.info().image_size);
    const auto plan = model.plan({side, side}, {});
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    return {plan->pieces.front(), std::move(values)};
}

struct LoadedTower {
    std::string file;
    std::shared_ptr<const model::VisionModel> model;
    std::unique_ptr<model::VisionSession> session;
};

inline LoadedTower load_tower(std::string file, const model::VisionOptions& options, std::size_t n_threads) {
    LoadedTower loaded;
    loaded.file = std::move(file);
    auto compute = model::Compute::create({.n_threads = n_threads, .use_gpu = false});
    EXPECT_TRUE(compute.ok());
    auto model = model::VisionModel::load_bytes(bytes_of(loaded.file), options, *compute);
    EXPECT_TRUE(model.ok()) << model.status().message();
    loaded.model = *model;
    auto session = model::VisionSession::create(*model);
    EXPECT_TRUE(session.ok());
    loaded.session = std::move(*session);
    return loaded;
}

inline std::vector<std::size_t> blocks_of(const model::VisionModel& model) {
    std::vector<std::size_t> layers(model.info().n_blocks);
    std::iota(layers.begin(), layers.end(), std::size_t{0});
    return layers;
}

struct LoadedVision : LoadedTower {
    model::PiecePixels pixels;  // the one piece of a square picture

    [[nodiscard]] std::vector<std::size_t> all_blocks() const { return blocks_of(*model); }
};

inline LoadedVision load_vision(const MmprojSpec& spec, const model::VisionOptions& options = {},
                                std::size_t n_threads = 1) {
    LoadedVision loaded = {load_tower(random_mmproj(spec), options, n_threads), {}};
    loaded.pixels = whole_piece(*loaded.model, random_pixels(spec.image_size, spec.seed + 7));
    return loaded;
}

}  // namespace clasp::test
