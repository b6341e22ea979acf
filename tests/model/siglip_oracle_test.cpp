// SmolVLM and Gemma 3 with llama.cpp's numbers against libmtmd: blocks, tokens, tiles, words.
#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "model/text_model.h"
#include "support/mtmd_oracle.h"
#include "support/paths.h"
#include "support/random_llama.h"
#include "support/random_siglip.h"
#include "support/siglip_words.h"
#include "support/vision_fixture.h"

namespace clasp::model {
namespace {

using test::load_vision;
using test::LoadedVision;

struct SiglipOracleCase {
    const char* name;
    test::MmprojSpec spec;
};

test::MmprojSpec of_type(test::MmprojSpec spec, ggml_type type, std::size_t longest_side = 64) {
    spec.matrix_type = type;
    spec.n_blocks = 3;
    if (spec.projector_type == "idefics3") spec.longest_side = longest_side;
    return spec;
}

test::MmprojSpec large_gemma3() {
    test::MmprojSpec spec = of_type(test::gemma3_mmproj(), GGML_TYPE_F16);
    spec.image_size = 128;  // 256 rows
    spec.merge = 0;
    return spec;
}

Image picture_of(PixelSize size, std::uint64_t seed) {
    Image picture;
    picture.width = size.width;
    picture.height = size.height;
    picture.rgb = test::random_rgb(300, seed);
    picture.rgb.resize(3 * static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height));
    return picture;
}

class SiglipOracle : public testing::TestWithParam<SiglipOracleCase> {};

TEST_P(SiglipOracle, EveryLayerAllTokensAndWordsAgree) {
    const test::MmprojSpec& spec = GetParam().spec;
    const std::string prefix = std::string(test::scratch_dir()) + "/siglip_oracle_" + GetParam().name;
    test::RandomLlama words = test::siglip_words();
    words.width = static_cast<std::int32_t>(spec.output_width);
    words.n_layers = 1;
    ASSERT_TRUE(test::write_random_llama(prefix + "-text.gguf", words));
    const auto text =
        TextModel::load(prefix + "-text.gguf", *Compute::create({.n_threads = 1, .use_gpu = false}));
    ASSERT_TRUE(text.ok()) << text.status().message();
    LoadedVision loaded = load_vision(spec, {.weights = VisionWeights::File});
    const VisionInfo& info = loaded.model->info();
    std::ofstream(prefix + ".gguf", std::ios::binary) << loaded.file;
    test::MtmdOracle oracle(prefix + ".gguf", 1, true, (*text)->handle());
    ASSERT_TRUE(oracle.ok());

    const std::vector<PixelSize> sizes = {{64, 64}, {107, 80}, {80, 107}, {200, 40}, {40, 200},
                                          {33, 17}, {32, 32},  {65, 64},  {299, 7},  {128, 128}};
    for (const PixelSize size : sizes) {
        SCOPED_TRACE(std::to_string(size.width) + " x " + std::to_string(size.height));
        const Image picture = picture_of(size, 5);
        const std::vector<test::MtmdOracle::Chunk> wanted =
            oracle.see_prompt(mtmd_default_marker(), std::span(&picture, 1), info.output_width);
        const auto plan = loaded.model->plan(size, {.compat = Compat::LlamaCpp});
        if (wanted.empty()) {  // a picture that it cannot take
            EXPECT_FALSE(plan.ok());
            continue;
        }
        ASSERT_TRUE(plan.ok()) << plan.status().message();
        const auto pieces = loaded.model->preprocess(picture, *plan, Compat::LlamaCpp);
        ASSERT_TRUE(pieces.ok()) << pieces.status().message();
        std::vector<test::MtmdOracle::Chunk> got = {{{llama_vocab_bos((*text)->vocabulary())}, {}}};
        for (const ArrangedRun& run : plan->arrangement) {
            if (run.kind == ArrangedRun::Kind::Text) {
                if (!got.back().rows.empty()) got.emplace_back();
                const auto tokens = (*text)->tokenize(run.text, false, true);
                ASSERT_TRUE(tokens.ok());
                got.back().text.insert(got.back().text.end(), tokens->begin(), tokens->end());
                continue;
            }
            const auto layers = loaded.session->encode(
                (*pieces)[run.piece], {.compat = Compat::LlamaCpp, .layers = loaded.all_blocks()});
            ASSERT_TRUE(layers.ok()) << layers.status().message();
            auto tokens = loaded.session->project(*layers, {{.layer = info.n_blocks - 1, .weight = 1.0}});
            ASSERT_TRUE(tokens.ok()) << tokens.status().message();
            got.push_back({{}, std::move(tokens->values)});
            if (run.piece + 1 < pieces->size()) continue;
            // Of the picture that libmtmd encoded last.
            ASSERT_EQ(oracle.layers().size(), info.n_blocks);
            for (const LayerOutput& layer : layers->layers) {
                EXPECT_EQ(test::relative_error(layer.values, oracle.layers().at(layer.layer)), 0.0)
                    << "block " << layer.layer;
            }
        }
        ASSERT_EQ(got.size(), wanted.size());
        for (std::size_t i = 0; i < got.size(); ++i) {
            EXPECT_EQ(got[i].text, wanted[i].text) << "part " << i;
            EXPECT_EQ(got[i].rows, wanted[i].rows) << "part " << i;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Files, SiglipOracle,
    testing::Values(SiglipOracleCase{"SmolVlmF32", of_type(test::smolvlm_mmproj(), GGML_TYPE_F32)},
                    SiglipOracleCase{"SmolVlmF16", of_type(test::smolvlm_mmproj(), GGML_TYPE_F16, 128)},
                    SiglipOracleCase{"SmolVlmOneTile", of_type(test::smolvlm_mmproj(), GGML_TYPE_F16, 32)},
                    SiglipOracleCase{"SmolVlmNotWhole", of_type(test::smolvlm_mmproj(), GGML_TYPE_F16, 75)},
                    SiglipOracleCase{"SmolVlmOldFile", of_type(test::smolvlm_mmproj(), GGML_TYPE_F16, 0)},
                    SiglipOracleCase{"SmolVlmQ8_0", of_type(test::smolvlm_mmproj(), GGML_TYPE_Q8_0)},
                    SiglipOracleCase{"Gemma3F32", of_type(test::gemma3_mmproj(), GGML_TYPE_F32)},
                    SiglipOracleCase{"Gemma3F16", of_type(test::gemma3_mmproj(), GGML_TYPE_F16)},
                    SiglipOracleCase{"Gemma3Large", large_gemma3()},
                    SiglipOracleCase{"Gemma3Q8_0", of_type(test::gemma3_mmproj(), GGML_TYPE_Q8_0)}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace clasp::model
