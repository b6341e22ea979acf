// The compatible mode against llama.cpp's own encoder: same file, same picture, same process, same bits.
#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "support/decoder_case.h"
#include "support/mtmd_oracle.h"
#include "support/paths.h"
#include "support/random_mmproj.h"
#include "support/vision_fixture.h"

namespace clasp::model {
namespace {

using test::load_vision;
using test::LoadedVision;
using test::relative_error;

struct Case {
    const char* name;
    test::MmprojSpec spec;
};

test::MmprojSpec small(ggml_type type, std::size_t image_size, std::vector<std::int32_t> feature_layer = {}) {
    test::MmprojSpec spec;
    spec.matrix_type = type;
    spec.image_size = image_size;
    spec.n_blocks = 5;
    spec.seed = 3;
    spec.feature_layer = std::move(feature_layer);
    return spec;
}

test::MmprojSpec internvit(ggml_type type, std::size_t image_size, std::size_t qk_norm_width = 0) {
    test::MmprojSpec spec = small(type, image_size);
    const test::MmprojSpec internvl = test::internvl_mmproj({.qk_norm_width = qk_norm_width});
    spec.swapped_ffn_names = internvl.swapped_ffn_names;
    spec.use_gelu = internvl.use_gelu;
    spec.internvl = internvl.internvl;
    return spec;
}

// A text model of the projector's width, for towers that put text around pictures.
std::shared_ptr<const TextModel> text_for(const test::MmprojSpec& spec) {
    test::RandomLlama text;
    text.width = static_cast<std::int32_t>(spec.output_width);
    text.n_layers = 1;
    text.control_tokens = {"<img>", "</img>"};
    return test::load_random_llama("oracle_text", text, {.repack = false});
}

class VisionOracle : public ::testing::TestWithParam<Case> {};

TEST_P(VisionOracle, EveryLayerAndTheTokensAgree) {
    const test::MmprojSpec& spec = GetParam().spec;
    LoadedVision loaded = load_vision(spec, {.weights = VisionWeights::File});
    const VisionInfo& info = loaded.model->info();
    const std::string path = std::string(test::scratch_dir()) + "/oracle_" + GetParam().name + ".gguf";
    std::ofstream(path, std::ios::binary) << loaded.file;
    const auto text = text_for(spec);
    test::MtmdOracle oracle(path, 1, true, text->handle());
    ASSERT_TRUE(oracle.ok());

    const std::vector<std::uint8_t> rgb = test::random_rgb(spec.image_size, 5);
    const std::vector<float> wanted = oracle.encode(rgb, spec.image_size, info.output_width);
    ASSERT_EQ(wanted.size(), info.n_tokens() * info.output_width);

    const std::size_t last = info.default_layer(Compat::LlamaCpp);
    std::vector<std::size_t> layers;
    for (std::size_t i = 0; i <= last; ++i) layers.push_back(i);
    ASSERT_EQ(oracle.layers().size(), layers.size());
    const PiecePixels pixels =
        test::whole_piece(*loaded.model, test::normalised_planes(rgb, info.mean, info.std));
    const auto got = loaded.session->encode(pixels, {.compat = Compat::LlamaCpp, .layers = layers});
    ASSERT_TRUE(got.ok()) << got.status().message();
    for (const std::size_t layer : layers) {
        const std::vector<float>& rows = oracle.layers().at(layer);
        // It leaves out the first row of LLaVA's tower, and the last, which is the class token, of
        // InternVL's.
        const std::ptrdiff_t first = spec.internvl ? 0 : static_cast<std::ptrdiff_t>(info.width);
        const std::vector<float> projected_rows(
            rows.begin() + first,
            rows.begin() + first + static_cast<std::ptrdiff_t>(rows.size() - info.width));
        EXPECT_EQ(relative_error(got->layers[layer].values, projected_rows), 0.0) << "layer " << layer;
    }
    const auto tokens = loaded.session->project(*got, {{.layer = last, .weight = 1.0}});
    ASSERT_TRUE(tokens.ok()) << tokens.status().message();
    EXPECT_EQ(relative_error(tokens->values, wanted), 0.0);

    // The original model's tokens are something else: the comparison above can fail.
    const std::size_t native = info.default_layer(Compat::Original);
    const auto original = loaded.session->encode(pixels, {.layers = {native}});
    ASSERT_TRUE(original.ok());
    const auto original_tokens = loaded.session->project(*original, {{.layer = native, .weight = 1.0}});
    ASSERT_TRUE(original_tokens.ok());
    EXPECT_GT(relative_error(original_tokens->values, wanted), 0.05);
}

INSTANTIATE_TEST_SUITE_P(Files, VisionOracle,
                         ::testing::Values(Case{"F32", small(GGML_TYPE_F32, 56)},
                                           Case{"F16", small(GGML_TYPE_F16, 56)},
                                           Case{"F16WideGrid", small(GGML_TYPE_F16, 168)},
                                           Case{"F16AllBlocks", small(GGML_TYPE_F16, 168, {5})},
                                           Case{"Q8_0", small(GGML_TYPE_Q8_0, 168)},
                                           Case{"InternvlF32", internvit(GGML_TYPE_F32, 56)},
                                           Case{"InternvlF16", internvit(GGML_TYPE_F16, 56)},
                                           Case{"InternvlF16WideGrid", internvit(GGML_TYPE_F16, 168)},
                                           Case{"InternvlQ8_0", internvit(GGML_TYPE_Q8_0, 168)},
                                           Case{"InternvlNormedRows", internvit(GGML_TYPE_F32, 56, 64)},
                                           Case{"InternvlNormedHeads", internvit(GGML_TYPE_F16, 168, 16)}),
                         [](const auto& test) { return test.param.name; });

// Tiles: the same resolutions, pixels and order as llama.cpp's, down to the bits of the tokens.
void expect_same_tiles(const test::MmprojSpec& spec,
                       const std::vector<std::pair<PixelSize, std::size_t>>& pictures) {
    LoadedVision loaded = load_vision(spec, {.weights = VisionWeights::File});
    const VisionInfo& info = loaded.model->info();
    const std::string path = std::string(test::scratch_dir()) + "/oracle_tiles.gguf";
    std::ofstream(path, std::ios::binary) << loaded.file;
    const auto text = text_for(spec);
    test::MtmdOracle oracle(path, 1, false, text->handle());
    ASSERT_TRUE(oracle.ok());
    for (const auto& [size, n_pieces] : pictures) {
        SCOPED_TRACE(std::to_string(size.width) + " x " + std::to_string(size.height));
        Image picture;
        picture.width = size.width;
        picture.height = size.height;
        const std::size_t n_bytes =
            3 * static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height);
        picture.rgb = test::random_rgb(300, 5);
        picture.rgb.resize(n_bytes);
        const std::vector<float> wanted =
            oracle.encode_picture(picture.rgb, static_cast<std::size_t>(size.width),
                                  static_cast<std::size_t>(size.height), info.output_width);
        const auto plan = loaded.model->plan(size, {Compat::LlamaCpp});
        ASSERT_TRUE(plan.ok()) << plan.status().message();
        ASSERT_EQ(plan->pieces.size(), n_pieces);
        ASSERT_EQ(wanted.size(), n_pieces * info.n_tokens() * info.output_width);
        const auto pieces = loaded.model->preprocess(picture, *plan, Compat::LlamaCpp);
        ASSERT_TRUE(pieces.ok()) << pieces.status().message();
        const std::size_t layer = info.default_layer(Compat::LlamaCpp);
        std::vector<std::vector<float>> tokens;
        for (const PiecePixels& piece : *pieces) {
            const auto layers =
                loaded.session->encode(piece, {.compat = Compat::LlamaCpp, .layers = {layer}});
            ASSERT_TRUE(layers.ok()) << layers.status().message();
            auto projected = loaded.session->project(*layers, {{.layer = layer, .weight = 1.0}});
            ASSERT_TRUE(projected.ok()) << projected.status().message();
            tokens.push_back(std::move(projected->values));
        }
        std::vector<float> got;
        for (const TokenCell& cell : token_cells(*plan)) {
            const auto from =
                tokens[cell.piece].begin() + static_cast<std::ptrdiff_t>(cell.cell * info.output_width);
            got.insert(got.end(), from, from + static_cast<std::ptrdiff_t>(info.output_width));
        }
        EXPECT_EQ(got, wanted);
    }
}

TEST(VisionOracleTiles, OfLlavaNextAgreeInPixelsAndOrder) {
    expect_same_tiles(test::tiled(small(GGML_TYPE_F16, 56)), {{{107, 80}, 5},
                                                              {{80, 107}, 5},
                                                              {{167, 50}, 4},
                                                              {{50, 167}, 4},
                                                              {{57, 57}, 5},
                                                              {{56, 56}, 1},
                                                              {{33, 17}, 1},
                                                              {{300, 20}, 4},
                                                              {{61, 199}, 4},
                                                              {{117, 66}, 5},
                                                              {{90, 40}, 3}});
}

TEST(VisionOracleTiles, OfInternvlAgreeInPixelsAndOrder) {
    expect_same_tiles(internvit(GGML_TYPE_F16, 56), {{{56, 56}, 1},
                                                     {{40, 30}, 1},
                                                     {{80, 60}, 5},
                                                     {{125, 38}, 4},
                                                     {{128, 96}, 7},
                                                     {{240, 135}, 13},
                                                     {{100, 100}, 5},
                                                     {{20, 300}, 7}});
    test::MmprojSpec few = internvit(GGML_TYPE_F32, 56);
    few.internvl->max_tiles = 4;
    expect_same_tiles(few, {{{240, 135}, 5}, {{57, 300}, 5}, {{33, 44}, 1}});
}

}  // namespace
}  // namespace clasp::model
