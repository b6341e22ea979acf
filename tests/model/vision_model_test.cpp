// What users of a vision tower rely on: reuse, early stop, determinism, clear errors.
#include "model/vision_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "support/random_mmproj.h"
#include "support/vision_fixture.h"

namespace clasp::model {
namespace {

using test::load_vision;
using test::LoadedVision;
using test::relative_error;
using ::testing::HasSubstr;

test::MmprojSpec spec_of(std::size_t image_size) {
    test::MmprojSpec spec;
    spec.image_size = image_size;
    spec.n_blocks = 5;
    return spec;
}

VisionLayers encode(LoadedVision& loaded, const EncodeRequest& request) {
    auto layers = loaded.session->encode(loaded.pixels, request);
    EXPECT_TRUE(layers.ok()) << layers.status().message();
    return std::move(layers).value();
}

VisionTokens project(VisionSession& session, const VisionLayers& layers, const Mix& mix) {
    auto tokens = session.project(layers, mix);
    EXPECT_TRUE(tokens.ok()) << tokens.status().message();
    return std::move(tokens).value();
}

TEST(VisionModel, StoppingEarlyChangesNoBit) {
    LoadedVision loaded = load_vision(spec_of(126));
    const VisionLayers all = encode(loaded, {.layers = loaded.all_blocks()});
    for (const std::size_t layer : loaded.all_blocks()) {
        const VisionLayers alone = encode(loaded, {.layers = {layer}});
        EXPECT_EQ(alone.layers[0].values, all.layers[layer].values) << "layer " << layer;
    }
}

TEST(VisionModel, AskingForAttentionAndKeysChangesNoBit) {
    LoadedVision loaded = load_vision(spec_of(126));
    const VisionLayers plain = encode(loaded, {.layers = {4}});
    const auto blocks = loaded.all_blocks();
    const VisionLayers rich = encode(loaded, {.layers = {4}, .class_attention = blocks, .keys = blocks});
    EXPECT_EQ(plain.layers[0].values, rich.layers[0].values);
    const VisionLayers attention_only = encode(loaded, {.class_attention = {2}, .keys = {2}});
    EXPECT_EQ(attention_only.class_attention[0].per_head, rich.class_attention[2].per_head);
    EXPECT_EQ(attention_only.keys[0].values, rich.keys[2].values);
}

TEST(VisionModel, ClassAttentionIsADistribution) {
    LoadedVision loaded = load_vision(spec_of(56));
    for (const Compat compat : {Compat::Original, Compat::LlamaCpp}) {
        const VisionLayers layers = encode(loaded, {.compat = compat, .class_attention = {1}});
        const ClassAttention& attention = layers.class_attention[0];
        ASSERT_EQ(attention.n_heads, loaded.model->info().n_heads);
        const std::size_t n_columns = layers.shape.n_patches() + 1;
        ASSERT_EQ(attention.per_head.size(), attention.n_heads * n_columns);
        for (std::size_t head = 0; head < attention.n_heads; ++head) {
            const auto row = attention.per_head.begin() + static_cast<std::ptrdiff_t>(head * n_columns);
            EXPECT_NEAR(std::accumulate(row, row + static_cast<std::ptrdiff_t>(n_columns), 0.0), 1.0, 1e-5);
        }
        EXPECT_NEAR(std::accumulate(attention.mean.begin(), attention.mean.end(), 0.0), 1.0, 1e-5);
    }
}

TEST(VisionModel, WeightOneIsNoFusionBitForBit) {
    LoadedVision loaded = load_vision(spec_of(126));
    const VisionLayers all = encode(loaded, {.layers = loaded.all_blocks()});
    const VisionLayers alone = encode(loaded, {.layers = {4}});
    const VisionTokens fused =
        project(*loaded.session, all, {{.layer = 1, .weight = 0.0}, {.layer = 4, .weight = 1.0}});
    const VisionTokens plain = project(*loaded.session, alone, {{.layer = 4, .weight = 1.0}});
    EXPECT_EQ(fused.values, plain.values);
    EXPECT_EQ(fused.gram, plain.gram);
    const VisionTokens mixed =
        project(*loaded.session, all, {{.layer = 1, .weight = 0.5}, {.layer = 4, .weight = 0.5}});
    EXPECT_GT(relative_error(mixed.values, plain.values), 0.01);
}

TEST(VisionModel, CachedLayersGiveTheBitsOfFreshOnes) {
    LoadedVision loaded = load_vision(spec_of(126));
    const Mix mix = {{.layer = 0, .weight = 0.2}, {.layer = 3, .weight = 0.8}};
    const VisionTokens direct = project(*loaded.session, encode(loaded, {.layers = layers_of(mix)}), mix);
    const VisionLayers cached = encode(loaded, {.layers = loaded.all_blocks()});
    auto other = VisionSession::create(loaded.model);
    ASSERT_TRUE(other.ok());
    const VisionTokens again = project(**other, cached, mix);
    EXPECT_EQ(direct.values, again.values);
    EXPECT_EQ(direct.gram, again.gram);
}

TEST(VisionModel, GramIsSymmetricWithUnitDiagonal) {
    LoadedVision loaded = load_vision(spec_of(126));
    const VisionTokens tokens =
        project(*loaded.session, encode(loaded, {.layers = {4}}), {{.layer = 4, .weight = 1.0}});
    const std::size_t n = tokens.n_tokens();
    ASSERT_EQ(tokens.gram.size(), n * n);
    for (std::size_t a = 0; a < n; ++a) {
        EXPECT_NEAR(tokens.gram[a * n + a], 1.0F, 1e-5F);
        for (std::size_t b = 0; b < a; ++b) EXPECT_EQ(tokens.gram[a * n + b], tokens.gram[b * n + a]);
    }
}

TEST(VisionModel, ThreadsAndWarmSessionsChangeNoBit) {
    // Small, because ggml's threads spin at every node: on a busy machine each one costs a time slice.
    test::MmprojSpec spec = spec_of(126);
    spec.n_blocks = 2;
    const Mix mix = {{.layer = 0, .weight = 0.3}, {.layer = 1, .weight = 0.7}};
    std::vector<float> first;
    for (const std::size_t n_threads : {1U, 2U}) {
        LoadedVision loaded = load_vision(spec, {}, n_threads);
        for (int repeat = 0; repeat < 2; ++repeat) {
            const VisionTokens tokens =
                project(*loaded.session, encode(loaded, {.layers = layers_of(mix)}), mix);
            if (first.empty()) first = tokens.values;
            EXPECT_EQ(tokens.values, first) << n_threads << " threads";
        }
    }
}

TEST(VisionModel, SessionsOfOneModelRunSideBySide) {
    LoadedVision loaded = load_vision(spec_of(126));
    const Mix mix = {{.layer = 4, .weight = 1.0}};
    const VisionTokens wanted = project(*loaded.session, encode(loaded, {.layers = {4}}), mix);
    std::vector<std::thread> threads;
    std::atomic<int> n_equal{0};
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            auto session = VisionSession::create(loaded.model);
            if (!session.ok()) return;
            for (int repeat = 0; repeat < 3; ++repeat) {
                auto layers = (*session)->encode(loaded.pixels, {.layers = {4}});
                if (!layers.ok()) return;
                auto tokens = (*session)->project(*layers, mix);
                if (tokens.ok() && tokens->values == wanted.values && tokens->gram == wanted.gram) ++n_equal;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(n_equal, 12);
}

TEST(VisionModel, ABlockTheFileDoesNotHaveIsAnErrorThatSaysHowManyThereAre) {
    LoadedVision loaded = load_vision(spec_of(56));
    const auto layers = loaded.session->encode(loaded.pixels, {.layers = {1, 23}});
    ASSERT_FALSE(layers.ok());
    EXPECT_EQ(layers.status().code(), Code::InvalidArgument);
    EXPECT_THAT(layers.status().message(),
                HasSubstr("vision layer 23 does not exist: the file has 5 blocks"));
    EXPECT_FALSE(loaded.session->encode(loaded.pixels, {.class_attention = {5}}).ok());
    EXPECT_FALSE(loaded.session->encode(loaded.pixels, {.keys = {5}}).ok());
}

TEST(VisionModel, BadRequestsAreErrors) {
    LoadedVision loaded = load_vision(spec_of(56));
    EXPECT_EQ(loaded.session->encode(loaded.pixels, {}).status().code(), Code::InvalidArgument);
    EXPECT_EQ(loaded.session->encode(loaded.pixels, {.layers = {2, 1}}).status().code(),
              Code::InvalidArgument);
    loaded.pixels.values.pop_back();
    EXPECT_THAT(loaded.session->encode(loaded.pixels, {.layers = {1}}).status().message(),
                HasSubstr("pixel values"));
    loaded.pixels.values.push_back(0.0F);
    const VisionLayers layers = encode(loaded, {.layers = {1}});
    EXPECT_THAT(loaded.session->project(layers, {{.layer = 2, .weight = 1.0}}).status().message(),
                HasSubstr("vision layer 2, which was not encoded"));
    EXPECT_FALSE(loaded.session->project(layers, {}).ok());
}

TEST(VisionModel, ResultsThatAreNotFiniteNameTheToken) {
    LoadedVision loaded = load_vision(spec_of(56));
    VisionLayers layers = encode(loaded, {.layers = {1}});
    layers.layers[0].values[3 * layers.width + 1] = std::numeric_limits<float>::quiet_NaN();
    const auto tokens = loaded.session->project(layers, {{.layer = 1, .weight = 1.0}});
    ASSERT_FALSE(tokens.ok());
    EXPECT_EQ(tokens.status().code(), Code::Corrupt);
    EXPECT_THAT(tokens.status().message(), HasSubstr("token 3"));
}

TEST(VisionModel, CancelStopsTheEncoder) {
    LoadedVision loaded = load_vision(spec_of(126));
    const std::atomic<bool> cancel{true};
    const auto layers = loaded.session->encode(loaded.pixels, {.layers = {4}}, &cancel);
    ASSERT_FALSE(layers.ok());
    EXPECT_EQ(layers.status().code(), Code::Cancelled);
    EXPECT_TRUE(loaded.session->encode(loaded.pixels, {.layers = {4}}).ok()) << "usable afterwards";
}

TEST(VisionModel, InfoSaysWhatIsInTheFile) {
    test::MmprojSpec spec = spec_of(56);
    const VisionInfo info = load_vision(spec).model->info();
    EXPECT_EQ(info.family, "clip-vit");
    EXPECT_EQ(info.weight_type, "f16");
    EXPECT_EQ(info.grid, (Grid{.height = 4, .width = 4}));
    EXPECT_EQ(info.n_blocks, 5U);
    EXPECT_EQ(info.output_width, 96U);
    EXPECT_EQ(info.feature_layer, 4U);
    EXPECT_EQ(info.llama_cpp_feature_layer, 3U);
    spec.feature_layer = {3};
    const VisionInfo early = load_vision(spec).model->info();
    EXPECT_EQ(early.feature_layer, 2U);
    EXPECT_EQ(early.llama_cpp_feature_layer, 2U);
}

struct FormatCase {
    VisionWeights weights;
    double tolerance;
};

class VisionFormats : public ::testing::TestWithParam<FormatCase> {};

TEST_P(VisionFormats, ConvertedWeightsStayClose) {
    test::MmprojSpec spec = spec_of(126);
    spec.matrix_type = GGML_TYPE_F32;
    LoadedVision exact = load_vision(spec, {.weights = VisionWeights::F32});
    LoadedVision converted = load_vision(spec, {.weights = GetParam().weights});
    const Mix mix = {{.layer = 4, .weight = 1.0}};
    const VisionTokens wanted = project(*exact.session, encode(exact, {.layers = {4}}), mix);
    const VisionTokens got = project(*converted.session, encode(converted, {.layers = {4}}), mix);
    EXPECT_LT(relative_error(got.values, wanted.values), GetParam().tolerance);
}

INSTANTIATE_TEST_SUITE_P(
    Formats, VisionFormats,
    ::testing::Values(FormatCase{VisionWeights::File, 1e-12}, FormatCase{VisionWeights::I16, 3e-3},
                      FormatCase{VisionWeights::F16, 3e-3}, FormatCase{VisionWeights::BF16, 3e-2},
                      FormatCase{VisionWeights::Q8, 3e-2}, FormatCase{VisionWeights::Q4_0, 3e-1}),
    [](const auto& test) { return std::string(vision_weights_name(test.param.weights)); });

}  // namespace
}  // namespace clasp::model
