// The faithful path against a slow reference of the original model.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "support/random_mmproj.h"
#include "support/reference_vit.h"
#include "support/vision_fixture.h"

namespace clasp::model {
namespace {

using test::load_vision;
using test::LoadedVision;
using test::Matrix;
using test::relative_error;

struct Case {
    const char* name;
    test::MmprojSpec spec;
    VisionWeights weights;
    double tolerance;
};

class VisionReference : public ::testing::TestWithParam<Case> {};

TEST_P(VisionReference, EveryLayerAttentionKeysAndTokens) {
    LoadedVision loaded = load_vision(GetParam().spec, {.weights = GetParam().weights});
    const double tolerance = GetParam().tolerance;
    const auto reader = GgufReader::parse(test::bytes_of(loaded.file));
    ASSERT_TRUE(reader.ok());
    const test::ReferenceVit reference(*reader);
    const test::ReferenceOutput wanted = reference.encode(loaded.pixels.values);

    const auto blocks = loaded.all_blocks();
    const auto got =
        loaded.session->encode(loaded.pixels, {.layers = blocks, .class_attention = blocks, .keys = blocks});
    ASSERT_TRUE(got.ok()) << got.status().message();
    for (const std::size_t block : blocks) {
        EXPECT_LT(relative_error(got->layers[block].values, test::patches_of(wanted.layers[block]).values),
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
    Matrix fused = test::patches_of(wanted.layers[1]);
    const Matrix last = test::patches_of(wanted.layers.back());
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

test::MmprojSpec with(ggml_type type, bool swapped, bool gelu) {
    test::MmprojSpec spec;
    spec.matrix_type = type;
    spec.swapped_ffn_names = swapped;
    spec.use_gelu = gelu;
    return spec;
}

test::MmprojSpec wide_grid() {
    test::MmprojSpec spec = with(GGML_TYPE_F32, true, false);
    spec.image_size = 168;  // 144 patches: enough rows for the tiled attention kernel
    spec.n_blocks = 5;
    return spec;
}

// InternViT-300M: LayerNorm, biases. InternViT-6B: RMSNorm, none, queries and keys normed over whole rows.
test::MmprojSpec small_internvit(ggml_type type, std::size_t image_size = 56) {
    test::MmprojSpec spec = test::internvl_mmproj();
    spec.matrix_type = type;
    spec.image_size = image_size;
    return spec;
}

test::MmprojSpec large_internvit(ggml_type type, std::size_t qk_norm_width = 64,
                                 std::size_t image_size = 56) {
    test::MmprojSpec spec = small_internvit(type, image_size);
    spec.internvl->has_norm_bias = false;
    spec.internvl->has_qkv_bias = false;
    spec.internvl->qk_norm_width = qk_norm_width;
    return spec;
}

test::MmprojSpec merged_by(std::size_t merge) {
    test::MmprojSpec spec = small_internvit(GGML_TYPE_F32);
    spec.internvl->merge = merge;
    return spec;
}

constexpr VisionWeights kFile = VisionWeights::File;
constexpr VisionWeights kI16 = VisionWeights::I16;
constexpr VisionWeights kQ8 = VisionWeights::Q8;

// ggml rounds quick GELU to half precision, and activations too where weights are in half precision.
INSTANTIATE_TEST_SUITE_P(
    Files, VisionReference,
    ::testing::Values(Case{"F32", with(GGML_TYPE_F32, true, false), kFile, 1e-3},
                      Case{"F32ExactGelu", with(GGML_TYPE_F32, false, true), kFile, 1e-5},
                      Case{"F32WideGrid", wide_grid(), kFile, 1e-3},
                      Case{"F16", with(GGML_TYPE_F16, true, false), kFile, 3e-3},
                      Case{"Q8_0", with(GGML_TYPE_Q8_0, true, false), kFile, 3e-2},
                      Case{"F32AsI16", with(GGML_TYPE_F32, true, false), kI16, 3e-3},
                      Case{"F32ExactGeluAsI16", with(GGML_TYPE_F32, false, true), kI16, 3e-3},
                      Case{"F32WideGridAsI16", wide_grid(), kI16, 3e-3},
                      Case{"F16AsI16", with(GGML_TYPE_F16, true, false), kI16, 3e-3},
                      Case{"Q8_0AsI16", with(GGML_TYPE_Q8_0, true, false), kI16, 3e-3},
                      Case{"F32AsQ8", with(GGML_TYPE_F32, true, false), kQ8, 3e-2},
                      Case{"Q8_0AsQ8", with(GGML_TYPE_Q8_0, true, false), kQ8, 3e-2}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Internvit, VisionReference,
    ::testing::Values(Case{"SmallF32", small_internvit(GGML_TYPE_F32), kFile, 1e-5},
                      Case{"SmallF32WideGrid", small_internvit(GGML_TYPE_F32, 168), kFile, 1e-5},
                      Case{"SmallF16", small_internvit(GGML_TYPE_F16), kFile, 3e-3},
                      Case{"SmallAsI16", small_internvit(GGML_TYPE_F16, 168), kI16, 3e-3},
                      Case{"MergedByOne", merged_by(1), kFile, 1e-5},
                      Case{"MergedByFour", merged_by(4), kFile, 1e-5},
                      Case{"LargeF32", large_internvit(GGML_TYPE_F32), kFile, 1e-5},
                      Case{"LargeF32PerHead", large_internvit(GGML_TYPE_F32, 16), kFile, 1e-5},
                      Case{"LargeF32WideGrid", large_internvit(GGML_TYPE_F32, 64, 168), kFile, 1e-5},
                      Case{"LargeF16", large_internvit(GGML_TYPE_F16), kFile, 3e-3},
                      Case{"LargeAsI16", large_internvit(GGML_TYPE_F16, 64, 168), kI16, 3e-3}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace clasp::model
