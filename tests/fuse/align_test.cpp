// Alignment of unequal grids against definitions written out cell by cell.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "clasp/fuse.h"
#include "fuse/features.h"

namespace clasp {
namespace {

using test::OwnedLayer;
using test::random_layer;

// The weight of old cell i for new cell c on one axis, from the definitions alone.
double axis_weight(std::size_t from, std::size_t to, std::size_t c, std::size_t i, Upsample upsample) {
    const double ratio = static_cast<double>(from) / static_cast<double>(to);
    const double cell = static_cast<double>(c);
    const double old = static_cast<double>(i);
    if (from == to) return c == i ? 1.0 : 0.0;
    if (from > to) {  // share of the new cell's length that lies in the old one
        const double overlap = std::min((cell + 1) * ratio, old + 1) - std::max(cell * ratio, old);
        return std::max(0.0, overlap) / ratio;
    }
    const double centre = (cell + 0.5) * ratio;
    if (upsample == Upsample::Nearest) return old <= centre && centre < old + 1 ? 1.0 : 0.0;
    const double at = std::clamp(centre - 0.5, 0.0, static_cast<double>(from - 1));
    return std::max(0.0, 1.0 - std::abs(at - old));  // the hat function
}

std::vector<double> align_slowly(const OwnedLayer& layer, Grid from, Grid to, Upsample upsample) {
    const std::size_t d = layer.view.width;
    std::vector<double> out(to.height * to.width * d, 0.0);
    for (std::size_t y = 0; y < to.height; ++y) {
        for (std::size_t x = 0; x < to.width; ++x) {
            for (std::size_t v = 0; v < from.height; ++v) {
                for (std::size_t u = 0; u < from.width; ++u) {
                    const double weight = axis_weight(from.height, to.height, y, v, upsample) *
                                          axis_weight(from.width, to.width, x, u, upsample);
                    for (std::size_t i = 0; i < d; ++i) {
                        out[(y * to.width + x) * d + i] += weight * layer.exact[(v * from.width + u) * d + i];
                    }
                }
            }
        }
    }
    return out;
}

constexpr Grid kGrids[] = {{1, 1}, {2, 3}, {4, 4}, {5, 7}, {8, 8}, {9, 2}, {12, 12}, {6, 12}};

TEST(AlignLayer, AgreesWithTheSlowReferenceForEveryPairOfGrids) {
    std::mt19937 random(1);
    for (const Grid from : kGrids) {
        for (const Grid to : kGrids) {
            for (const Upsample upsample : {Upsample::Bilinear, Upsample::Nearest}) {
                for (const FloatType type : {FloatType::F32, FloatType::F16, FloatType::BF16}) {
                    const OwnedLayer layer = random_layer(random, type, from.height * from.width, 35, 2);
                    std::vector<float> out(to.height * to.width * 35);
                    ASSERT_TRUE(align_layer(layer.view, from, to, upsample, out).ok());
                    const auto wanted = align_slowly(layer, from, to, upsample);
                    for (std::size_t i = 0; i < out.size(); ++i) {
                        ASSERT_NEAR(static_cast<double>(out[i]), wanted[i], 1e-5)
                            << from.height << "x" << from.width << " to " << to.height << "x" << to.width;
                    }
                }
            }
        }
    }
}

TEST(AlignLayer, EqualGridsAreLeftAlone) {
    std::mt19937 random(2);
    const OwnedLayer layer = random_layer(random, FloatType::F32, 12, 8);
    std::vector<float> out(96);
    ASSERT_TRUE(align_layer(layer.view, {3, 4}, {3, 4}, Upsample::Bilinear, out).ok());
    EXPECT_EQ(std::memcmp(out.data(), layer.bytes.data(), layer.bytes.size()), 0);
}

TEST(AlignLayer, PoolingByAWholeRatioIsThePlainAverage) {
    const std::vector<float> values = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    const LayerView layer{values.data(), FloatType::F32, 16, 1, 0};
    std::vector<float> out(4);
    ASSERT_TRUE(align_layer(layer, {4, 4}, {2, 2}, Upsample::Bilinear, out).ok());
    EXPECT_EQ(out, (std::vector<float>{3.5F, 5.5F, 11.5F, 13.5F}));
}

TEST(AlignLayer, BilinearHasHalfPixelCentresAndRepeatsEdges) {
    const std::vector<float> values = {0, 4};
    const LayerView layer{values.data(), FloatType::F32, 2, 1, 0};
    std::vector<float> out(4);
    ASSERT_TRUE(align_layer(layer, {1, 2}, {1, 4}, Upsample::Bilinear, out).ok());
    EXPECT_EQ(out, (std::vector<float>{0, 1, 3, 4}));
    ASSERT_TRUE(align_layer(layer, {1, 2}, {1, 4}, Upsample::Nearest, out).ok());
    EXPECT_EQ(out, (std::vector<float>{0, 0, 4, 4}));
}

TEST(FuseGrids, IsAlignmentThenFusion) {
    std::mt19937 random(3);
    const std::vector<Grid> grids = {{12, 12}, {6, 6}, {4, 9}};
    std::vector<OwnedLayer> layers;
    for (const Grid grid : grids)
        layers.push_back(random_layer(random, FloatType::F16, grid.height * grid.width, 70));
    const std::vector<float> weights = {0.2F, 0.3F, 0.5F};
    const Grid to{6, 6};
    std::vector<float> out(36 * 70);
    ASSERT_TRUE(fuse_grids(test::views(layers), grids, weights, to, Upsample::Bilinear, out).ok());
    std::vector<double> wanted(out.size(), 0.0);
    for (std::size_t l = 0; l < 3; ++l) {
        const auto aligned = align_slowly(layers[l], grids[l], to, Upsample::Bilinear);
        for (std::size_t i = 0; i < wanted.size(); ++i)
            wanted[i] += static_cast<double>(weights[l]) * aligned[i];
    }
    for (std::size_t i = 0; i < out.size(); ++i) ASSERT_NEAR(static_cast<double>(out[i]), wanted[i], 1e-5);
    for (const std::size_t n_threads : {2u, 4u}) {
        ThreadPool pool(n_threads);
        std::vector<float> shared(out.size());
        ASSERT_TRUE(
            fuse_grids(test::views(layers), grids, weights, to, Upsample::Bilinear, shared, &pool).ok());
        EXPECT_EQ(out, shared);
    }
}

TEST(FuseGrids, EqualGridsGiveTheBitsOfFuseLayers) {
    std::mt19937 random(4);
    std::vector<OwnedLayer> layers;
    for (int l = 0; l < 3; ++l) layers.push_back(random_layer(random, FloatType::BF16, 24, 50));
    const std::vector<float> weights = {0.2F, 0.3F, 0.5F};
    const std::vector<Grid> grids(3, Grid{4, 6});
    std::vector<float> a(24 * 50);
    std::vector<float> b(24 * 50);
    ASSERT_TRUE(fuse_layers(test::views(layers), weights, a).ok());
    ASSERT_TRUE(fuse_grids(test::views(layers), grids, weights, {4, 6}, Upsample::Nearest, b).ok());
    EXPECT_EQ(a, b);
}

TEST(FuseGrids, Errors) {
    const std::vector<float> values(32, 1.0F);
    const LayerView layer{values.data(), FloatType::F32, 4, 8, 0};
    const std::vector<LayerView> layers = {layer};
    const std::vector<float> one = {1.0F};
    std::vector<float> out(32);
    const auto message = [&](std::vector<Grid> grids, Grid to) {
        return fuse_grids(layers, grids, one, to, Upsample::Bilinear, out).message();
    };
    EXPECT_EQ(message({}, {2, 2}), "1 layers need as many grids, not 0");
    EXPECT_EQ(message({{2, 2}}, {0, 2}), "the target grid 0x2 has a side that is not between 1 and 1048576");
    EXPECT_EQ(message({{2, 2000000}}, {2, 2}),
              "grid 0 2x2000000 has a side that is not between 1 and 1048576");
    EXPECT_EQ(message({{3, 2}}, {2, 2}), "grid 3x2 does not hold the 4 tokens of layer view 0");
    EXPECT_EQ(message({{2, 2}}, {3, 2}), "the output holds 32 values, but 6 tokens of width 8 are fused");
    const LayerView narrow{values.data(), FloatType::F32, 4, 4, 0};
    const std::vector<LayerView> unequal = {layer, narrow};
    const std::vector<Grid> grids(2, Grid{2, 2});
    EXPECT_EQ(
        fuse_grids(unequal, grids, std::vector<float>{0.5F, 0.5F}, {2, 2}, Upsample::Bilinear, out).message(),
        "layers of different widths cannot be fused: layer view 1 has width 4, the first has 8");
    const LayerView empty{nullptr, FloatType::F32, 4, 0, 0};
    EXPECT_TRUE(align_layer(empty, {2, 2}, {1, 1}, Upsample::Bilinear, {}).ok()) << "no width, no work";
}

}  // namespace
}  // namespace clasp
