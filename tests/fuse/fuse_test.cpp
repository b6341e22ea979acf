// Weighted sums of layers against a slow reference, in all formats, layouts and thread counts.
#include "clasp/fuse.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "fuse/features.h"
#include "fuse/kernel.h"

namespace clasp {
namespace {

using test::OwnedLayer;
using test::random_layer;

constexpr FloatType kTypes[] = {FloatType::F32, FloatType::F16, FloatType::BF16};

std::vector<float> random_weights(std::mt19937& random, std::size_t n) {
    std::uniform_real_distribution<float> uniform(0.01F, 1.0F);
    std::vector<float> weights(n);
    for (float& weight : weights) weight = uniform(random);
    return weights;
}

void expect_near(const std::vector<float>& got, const std::vector<double>& wanted) {
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_NEAR(static_cast<double>(got[i]), wanted[i], 1e-5 * (1.0 + std::abs(wanted[i])))
            << "value " << i;
    }
}

TEST(FuseLayers, AgreesWithTheSlowReference) {
    std::mt19937 random(1);
    for (const FloatType type : kTypes) {
        for (const std::size_t n_layers : {1u, 2u, 3u, 7u}) {
            for (const std::size_t width : {1u, 5u, 31u, 32u, 33u, 100u}) {
                for (const std::size_t gap : {0u, 3u}) {
                    std::vector<OwnedLayer> layers;
                    for (std::size_t l = 0; l < n_layers; ++l) {
                        layers.push_back(random_layer(random, type, 9, width, gap));
                    }
                    const auto weights = random_weights(random, n_layers);
                    std::vector<float> out(9 * width);
                    ASSERT_TRUE(fuse_layers(test::views(layers), weights, out).ok());
                    expect_near(out, test::fuse_slowly(layers, weights));
                }
            }
        }
    }
}

TEST(FuseLayers, FormatsMayDifferFromLayerToLayer) {
    std::mt19937 random(2);
    std::vector<OwnedLayer> layers;
    for (const FloatType type : kTypes) layers.push_back(random_layer(random, type, 40, 67));
    const auto weights = random_weights(random, 3);
    std::vector<float> out(40 * 67);
    ASSERT_TRUE(fuse_layers(test::views(layers), weights, out).ok());
    expect_near(out, test::fuse_slowly(layers, weights));
}

TEST(FuseLayers, SameBitsForAnyNumberOfThreads) {
    std::mt19937 random(3);
    std::vector<OwnedLayer> layers;
    for (const FloatType type : kTypes) layers.push_back(random_layer(random, type, 577, 256));
    const auto weights = random_weights(random, 3);
    std::vector<float> alone(577 * 256);
    ASSERT_TRUE(fuse_layers(test::views(layers), weights, alone).ok());
    for (const std::size_t n_threads : {1u, 2u, 3u, 5u}) {
        ThreadPool pool(n_threads);
        std::vector<float> shared(alone.size());
        ASSERT_TRUE(fuse_layers(test::views(layers), weights, shared, &pool).ok());
        EXPECT_EQ(std::memcmp(alone.data(), shared.data(), alone.size() * sizeof(float)), 0) << n_threads;
    }
}

TEST(FuseLayers, ASingleLayerOfWeightOneComesBackBitForBit) {
    std::mt19937 random(4);
    const OwnedLayer layer = random_layer(random, FloatType::F32, 20, 50);
    const float one = 1.0F;
    std::vector<float> out(1000);
    ASSERT_TRUE(fuse_layers({&layer.view, 1}, {&one, 1}, out).ok());
    EXPECT_EQ(std::memcmp(out.data(), layer.bytes.data(), layer.bytes.size()), 0);
}

TEST(FuseLayers, LayersOfWeightZeroAreNotRead) {
    std::mt19937 random(5);
    const OwnedLayer layer = random_layer(random, FloatType::F32, 4, 40);
    const std::vector<float> poison(160, std::numeric_limits<float>::quiet_NaN());
    const std::vector<LayerView> layers = {{poison.data(), FloatType::F32, 4, 40, 0}, layer.view};
    std::vector<float> out(160);
    ASSERT_TRUE(fuse_layers(layers, std::vector<float>{0.0F, 1.0F}, out).ok());
    EXPECT_EQ(std::memcmp(out.data(), layer.bytes.data(), layer.bytes.size()), 0);
    out.assign(160, 7.0F);
    ASSERT_TRUE(fuse_layers(layers, std::vector<float>{0.0F, 0.0F}, out).ok());
    for (const float value : out) EXPECT_EQ(value, 0.0F);
    const std::vector<LayerView> strided = {{poison.data(), FloatType::F32, 4, 20, 40}};
    out.assign(80, 7.0F);
    ASSERT_TRUE(fuse_layers(strided, std::vector<float>{0.0F}, out).ok());
    for (const float value : out) EXPECT_EQ(value, 0.0F);
}

TEST(FuseLayers, NoTokensIsNoWork) {
    const LayerView empty{nullptr, FloatType::F32, 0, 8, 0};
    const float one = 1.0F;
    EXPECT_TRUE(fuse_layers({&empty, 1}, {&one, 1}, {}).ok());
}

TEST(FuseLayers, Errors) {
    const std::vector<float> values(64, 1.0F);
    const LayerView a{values.data(), FloatType::F32, 4, 8, 0};
    std::vector<float> out(32);
    const auto message = [&](std::vector<LayerView> layers, std::vector<float> weights, std::span<float> to) {
        return fuse_layers(layers, weights, to).message();
    };
    EXPECT_EQ(message({}, {}, out), "fusion needs at least one layer");
    EXPECT_EQ(message({a, a}, {1.0F}, out), "2 layers need as many weights, not 1");
    EXPECT_EQ(message({a}, {std::numeric_limits<float>::quiet_NaN()}, out),
              "the weight of layer view 0 is not finite");
    EXPECT_EQ(message({a, a}, {0.5F, std::numeric_limits<float>::infinity()}, out),
              "the weight of layer view 1 is not finite");
    LayerView b = a;
    b.width = 4;
    EXPECT_EQ(message({a, b}, {0.5F, 0.5F}, out),
              "layers of different widths cannot be fused: layer view 1 has width 4, the first has 8");
    b = a;
    b.n_tokens = 3;
    EXPECT_EQ(
        message({a, b}, {0.5F, 0.5F}, out),
        "layers of different token counts need grids to be aligned: layer view 1 has 3, the first has 4");
    b = a;
    b.stride = 7;
    EXPECT_EQ(message({b}, {1.0F}, out), "layer view 0 has rows 7 values apart, less than its width 8");
    b = a;
    b.data = nullptr;
    EXPECT_EQ(message({b}, {1.0F}, out), "layer view 0 has no data");
    b = a;
    b.n_tokens = std::numeric_limits<std::size_t>::max() / 2;
    EXPECT_EQ(message({b}, {1.0F}, out), "layer view 0 is larger than memory can be");
    EXPECT_EQ(message({a}, {1.0F}, std::span(out).first(31)),
              "the output holds 31 values, but 4 tokens of width 8 are fused");
}

#if defined(CLASP_FUSE_AVX2)
TEST(FuseKernel, VectorVersionGivesTheBitsOfTheScalarOne) {
    if (!fuse::has_avx2()) GTEST_SKIP() << "this machine has no AVX2";
    std::mt19937 random(6);
    for (int round = 0; round < 200; ++round) {
        const std::size_t n_taps = 1 + random() % 6;
        const std::size_t n_values = random() % 300;
        std::vector<OwnedLayer> rows;
        std::vector<fuse::Tap> taps;
        for (std::size_t k = 0; k < n_taps; ++k) {
            rows.push_back(random_layer(random, kTypes[random() % 3], 1, n_values));
            const float weight = random_weights(random, 1)[0] - 0.5F;
            taps.push_back({rows.back().bytes.data(), rows.back().view.type, weight});
        }
        std::vector<float> scalar(n_values, -1.0F);
        std::vector<float> vector(n_values, -1.0F);
        const std::size_t first = n_values == 0 ? 0 : random() % n_values;
        fuse::weighted_sum_scalar(taps, first, n_values, scalar.data());
        fuse::weighted_sum_avx2(taps, first, n_values, vector.data());
        ASSERT_EQ(scalar, vector);
    }
}

TEST(FuseKernel, HalfAndBfloatConvertEveryPatternAlike) {
    if (!fuse::has_avx2()) GTEST_SKIP() << "this machine has no AVX2";
    std::vector<std::uint16_t> patterns(65536);
    for (std::size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<std::uint16_t>(i);
    for (const FloatType type : {FloatType::F16, FloatType::BF16}) {
        const fuse::Tap tap{reinterpret_cast<const std::byte*>(patterns.data()), type, 1.0F};
        std::vector<float> scalar(patterns.size());
        std::vector<float> vector(patterns.size());
        fuse::weighted_sum_scalar({&tap, 1}, 0, patterns.size(), scalar.data());
        fuse::weighted_sum_avx2({&tap, 1}, 0, patterns.size(), vector.data());
        EXPECT_EQ(std::memcmp(scalar.data(), vector.data(), scalar.size() * sizeof(float)), 0);
    }
}
#endif

}  // namespace
}  // namespace clasp
