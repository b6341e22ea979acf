// The faithful path against a slow reference of the original model.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "model/vision_model.h"
#include "support/random_mmproj.h"
#include "support/reference_vit.h"

namespace clasp::model {
namespace {

using testing::Matrix;

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

// Largest difference over the largest value: one number for a whole tensor.
double relative_error(std::span<const float> got, std::span<const double> wanted) {
    EXPECT_EQ(got.size(), wanted.size());
    double worst = 0.0;
    double top = 0.0;
    for (std::size_t i = 0; i < std::min(got.size(), wanted.size()); ++i) {
        worst = std::max(worst, std::abs(static_cast<double>(got[i]) - wanted[i]));
        top = std::max(top, std::abs(wanted[i]));
    }
    return worst / top;
}

struct Loaded {
    std::string file;
    std::shared_ptr<const VisionModel> model;
    std::unique_ptr<VisionSession> session;
    std::vector<float> pixels;
};

Loaded load(const testing::MmprojSpec& spec, const VisionOptions& options = {}) {
    Loaded loaded;
    loaded.file = testing::random_mmproj(spec);
    auto compute = Compute::create({.n_threads = 1});
    EXPECT_TRUE(compute.ok());
    auto model = VisionModel::load_bytes(bytes_of(loaded.file), options, *compute);
    EXPECT_TRUE(model.ok()) << model.status().message();
    loaded.model = *model;
    auto session = VisionSession::create(*model);
    EXPECT_TRUE(session.ok());
    loaded.session = std::move(*session);
    loaded.pixels = testing::random_pixels(spec.image_size, spec.seed + 7);
    return loaded;
}

std::vector<std::size_t> all_blocks(const VisionModel& model) {
    std::vector<std::size_t> layers(model.info().n_blocks);
    std::iota(layers.begin(), layers.end(), std::size_t{0});
    return layers;
}

struct Case {
    const char* name;
    testing::MmprojSpec spec;
    double tolerance;
};

class VisionReference : public ::testing::TestWithParam<Case> {};

TEST_P(VisionReference, EveryLayerAttentionKeysAndTokens) {
    Loaded loaded = load(GetParam().spec);
    const double tolerance = GetParam().tolerance;
    const auto reader = GgufReader::parse(bytes_of(loaded.file));
    ASSERT_TRUE(reader.ok());
    const testing::ReferenceVit reference(*reader);
    const testing::ReferenceOutput wanted = reference.encode(loaded.pixels);

    const auto blocks = all_blocks(*loaded.model);
    const auto got =
        loaded.session->encode(loaded.pixels, {.layers = blocks, .class_attention = blocks, .keys = blocks});
    ASSERT_TRUE(got.ok()) << got.status().message();
    for (const std::size_t block : blocks) {
        EXPECT_LT(relative_error(got->layers[block].values, testing::patches_of(wanted.layers[block]).values),
                  tolerance)
            << "block " << block;
        EXPECT_LT(relative_error(got->class_attention[block].per_head, wanted.class_attention[block].values),
                  tolerance)
            << "block " << block;
        EXPECT_LT(relative_error(got->keys[block].values, wanted.keys[block].values), tolerance)
            << "block " << block;
    }

    const Mix mix = {{.layer = 1, .weight = 0.25},
                     {.layer = loaded.model->info().feature_layer, .weight = 0.75}};
    const auto tokens = loaded.session->project(*got, mix);
    ASSERT_TRUE(tokens.ok()) << tokens.status().message();
    Matrix fused = testing::patches_of(wanted.layers[1]);
    const Matrix last = testing::patches_of(wanted.layers.back());
    for (std::size_t i = 0; i < fused.values.size(); ++i) {
        fused.values[i] = 0.25 * fused.values[i] + 0.75 * last.values[i];
    }
    const Matrix projected = reference.project(fused);
    EXPECT_LT(relative_error(tokens->values, projected.values), tolerance);

    std::vector<double> gram;
    for (std::size_t a = 0; a < projected.rows; ++a) {
        for (std::size_t b = 0; b < projected.rows; ++b) {
            double dot = 0.0;
            double aa = 0.0;
            double bb = 0.0;
            for (std::size_t i = 0; i < projected.columns; ++i) {
                dot += projected.at(a, i) * projected.at(b, i);
                aa += projected.at(a, i) * projected.at(a, i);
                bb += projected.at(b, i) * projected.at(b, i);
            }
            gram.push_back(dot / std::sqrt(aa * bb));
        }
    }
    EXPECT_LT(relative_error(tokens->gram, gram), tolerance);
}

testing::MmprojSpec with(ggml_type type, bool swapped, bool gelu) {
    testing::MmprojSpec spec;
    spec.matrix_type = type;
    spec.swapped_ffn_names = swapped;
    spec.use_gelu = gelu;
    return spec;
}

testing::MmprojSpec wide_grid() {
    testing::MmprojSpec spec = with(GGML_TYPE_F32, true, false);
    spec.image_size = 168;  // 144 patches: enough rows for the tiled attention kernel
    spec.n_blocks = 5;
    return spec;
}

// ggml rounds quick GELU to half precision, and activations too where weights are in half precision.
INSTANTIATE_TEST_SUITE_P(Files, VisionReference,
                         ::testing::Values(Case{"F32", with(GGML_TYPE_F32, true, false), 1e-3},
                                           Case{"F32ExactGelu", with(GGML_TYPE_F32, false, true), 1e-5},
                                           Case{"F32WideGrid", wide_grid(), 1e-3},
                                           Case{"F16", with(GGML_TYPE_F16, true, false), 3e-3},
                                           Case{"Q8_0", with(GGML_TYPE_Q8_0, true, false), 3e-2}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace clasp::model
