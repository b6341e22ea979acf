// SigLIP's tower with the projectors of SmolVLM and Gemma 3: every layer, keys and tokens against plain
// loops, and files that are not what they should be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "model/vision_model.h"
#include "support/random_siglip.h"
#include "support/reference_vit.h"
#include "support/vision_fixture.h"

namespace clasp::model {
namespace {

using test::load_vision;
using test::LoadedVision;
using test::Matrix;
using test::relative_error;
using testing::HasSubstr;

struct SiglipCase {
    const char* name;
    test::MmprojSpec spec;
    VisionWeights weights;
    double tolerance;
};

test::MmprojSpec typed(test::MmprojSpec spec, ggml_type type, bool swapped = true) {
    spec.matrix_type = type;
    spec.swapped_ffn_names = swapped;
    return spec;
}

// More rows than one tile of the attention kernel, a head width of 12, a rest of pixels without a patch.
test::MmprojSpec odd(test::MmprojSpec spec) {
    spec.image_size = 100;
    spec.patch_size = 8;
    spec.width = 48;
    spec.merge = 3;
    spec.longest_side = 300;
    spec.matrix_type = GGML_TYPE_F32;
    return spec;
}

class SiglipReference : public testing::TestWithParam<SiglipCase> {};

TEST_P(SiglipReference, EveryLayerKeysAndTokens) {
    LoadedVision loaded = load_vision(GetParam().spec, {.weights = GetParam().weights});
    const double tolerance = GetParam().tolerance;
    const auto reader = GgufReader::parse(test::bytes_of(loaded.file));
    ASSERT_TRUE(reader.ok());
    const test::ReferenceVit reference(*reader);
    const test::ReferenceOutput wanted = reference.encode(loaded.pixels.values);
    const auto blocks = loaded.all_blocks();
    for (const Compat compat : {Compat::Original, Compat::LlamaCpp}) {
        const auto got =
            loaded.session->encode(loaded.pixels, {.compat = compat, .layers = blocks, .keys = blocks});
        ASSERT_TRUE(got.ok()) << got.status().message();
        // llama.cpp's attention has keys and values in half precision.
        const double allowed = compat == Compat::Original ? tolerance : std::max(tolerance, 4e-3);
        for (const std::size_t block : blocks) {
            EXPECT_LT(relative_error(got->layers[block].values, wanted.layers[block].values), allowed)
                << "block " << block;
            EXPECT_LT(relative_error(got->keys[block].values, wanted.keys[block].values), allowed)
                << "block " << block;
        }
        // The norm behind the blocks comes once, after the mix.
        const std::size_t native = loaded.model->info().feature_layer;
        EXPECT_EQ(native, blocks.back());
        const auto tokens =
            loaded.session->project(*got, {{.layer = 1, .weight = 0.25}, {.layer = native, .weight = 0.75}});
        ASSERT_TRUE(tokens.ok()) << tokens.status().message();
        Matrix fused = wanted.layers[1];
        for (std::size_t i = 0; i < fused.values.size(); ++i) {
            fused.values[i] = 0.25 * fused.values[i] + 0.75 * wanted.layers.back().values[i];
        }
        EXPECT_LT(relative_error(tokens->values, reference.project(fused).values), allowed);
        const auto alone = loaded.session->project(*got, {{.layer = native, .weight = 1.0}});
        ASSERT_TRUE(alone.ok());
        EXPECT_LT(relative_error(alone->values, reference.project(wanted.layers.back()).values), allowed);
    }
}

constexpr VisionWeights kAsFile = VisionWeights::File;
constexpr VisionWeights kAsI16 = VisionWeights::I16;

// ggml's tanh GELU goes through a table in half precision.
INSTANTIATE_TEST_SUITE_P(
    Files, SiglipReference,
    testing::Values(
        SiglipCase{"SmolVlmF32", typed(test::smolvlm_mmproj(), GGML_TYPE_F32), kAsFile, 1e-3},
        SiglipCase{"SmolVlmF16", typed(test::smolvlm_mmproj(), GGML_TYPE_F16, false), kAsFile, 4e-3},
        SiglipCase{"SmolVlmQ8_0", typed(test::smolvlm_mmproj(), GGML_TYPE_Q8_0), kAsFile, 3e-2},
        SiglipCase{"SmolVlmAsI16", typed(test::smolvlm_mmproj(), GGML_TYPE_F32), kAsI16, 4e-3},
        SiglipCase{"SmolVlmOdd", odd(test::smolvlm_mmproj()), kAsFile, 1e-3},
        SiglipCase{"SmolVlmOddAsI16", odd(test::smolvlm_mmproj()), kAsI16, 4e-3},
        SiglipCase{"Gemma3F32", typed(test::gemma3_mmproj(), GGML_TYPE_F32), kAsFile, 1e-3},
        SiglipCase{"Gemma3F16", typed(test::gemma3_mmproj(), GGML_TYPE_F16, false), kAsFile, 4e-3},
        SiglipCase{"Gemma3Q8_0", typed(test::gemma3_mmproj(), GGML_TYPE_Q8_0), kAsFile, 3e-2},
        SiglipCase{"Gemma3AsI16", typed(test::gemma3_mmproj(), GGML_TYPE_F32), kAsI16, 4e-3},
        SiglipCase{"Gemma3Odd", odd(test::gemma3_mmproj()), kAsFile, 1e-3}),
    [](const auto& test) { return test.param.name; });

TEST(Siglip, SaysWhatItIs) {
    const auto smolvlm = inspect_vision(test::bytes_of(test::random_mmproj(test::smolvlm_mmproj())));
    ASSERT_TRUE(smolvlm.ok()) << smolvlm.status().message();
    EXPECT_EQ(smolvlm->family, "siglip");
    EXPECT_EQ(smolvlm->projector_type, "idefics3");
    EXPECT_FALSE(smolvlm->capabilities.has_class_token);
    EXPECT_EQ(smolvlm->capabilities.merge, 2U);
    EXPECT_EQ(smolvlm->n_tokens(), 4U);
    EXPECT_EQ(smolvlm->output_width, 96U);
    const auto gemma = inspect_vision(test::bytes_of(test::random_mmproj(test::gemma3_mmproj())));
    ASSERT_TRUE(gemma.ok()) << gemma.status().message();
    EXPECT_EQ(gemma->projector_type, "gemma3");
    EXPECT_EQ(gemma->n_tokens(), 16U);
    // Files of the published size do not say how much is merged.
    test::MmprojSpec usual = test::gemma3_mmproj();
    usual.merge = 0;
    const auto four = inspect_vision(test::bytes_of(test::random_mmproj(usual)));
    ASSERT_TRUE(four.ok()) << four.status().message();
    EXPECT_EQ(four->capabilities.merge, 4U);
}

TEST(Siglip, HasNoClassToken) {
    LoadedVision loaded = load_vision(test::smolvlm_mmproj());
    const auto refused = loaded.session->encode(loaded.pixels, {.layers = {0}, .class_attention = {0}});
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.status().message(), HasSubstr("no class token"));
}

// Gemma 3 stretches a picture; llama.cpp keeps its shape, on black.
TEST(Gemma3Plan, IsASquareOfThePicture) {
    const LoadedVision loaded = load_vision(test::gemma3_mmproj());
    const auto original = loaded.model->plan({640, 320}, {});
    ASSERT_TRUE(original.ok());
    EXPECT_EQ(original->layout.resized, (PixelSize{64, 64}));
    EXPECT_EQ(original->layout.n_tokens(), 16U);
    EXPECT_DOUBLE_EQ(original->layout.regions[0].area.width, 640.0);
    const auto llama_cpp = loaded.model->plan({640, 320}, {.compat = Compat::LlamaCpp});
    ASSERT_TRUE(llama_cpp.ok());
    EXPECT_EQ(llama_cpp->layout.resized, (PixelSize{64, 32}));
    EXPECT_EQ(llama_cpp->layout.pad_colour, (std::array<std::uint8_t, 3>{0, 0, 0}));
    EXPECT_DOUBLE_EQ(llama_cpp->layout.regions[0].area.top, -160.0);
}

// ---- Hostile files ----

void expect_siglip_error(const std::string& file, const std::string& text) {
    const auto info = inspect_vision(test::bytes_of(file));
    ASSERT_FALSE(info.ok()) << text;
    EXPECT_THAT(info.status().message(), HasSubstr(text));
    EXPECT_EQ(info.status().message().find('\n'), std::string::npos);
}

std::string with_u32(std::string file, const std::string& key, std::uint32_t value) {
    const std::size_t at = file.find(key);
    EXPECT_NE(at, std::string::npos) << key;
    std::memcpy(file.data() + at + key.size() + sizeof(std::uint32_t), &value, sizeof(value));
    return file;
}

std::string renamed(std::string file, const std::string& name) {
    const std::size_t at = file.find(name);
    EXPECT_NE(at, std::string::npos) << name;
    file[at] = 'X';
    return file;
}

TEST(SiglipHostile, MessagesNameTheProblem) {
    const std::string smolvlm = test::random_mmproj(test::smolvlm_mmproj());
    const std::string gemma = test::random_mmproj(test::gemma3_mmproj());
    const std::string merge = "clip.vision.projector.scale_factor";
    const std::string longest = "clip.vision.preproc_image_size";
    expect_siglip_error(with_u32(smolvlm, merge, 0), merge + " is 0; it must be between 1 and 4");
    expect_siglip_error(with_u32(smolvlm, merge, 5), merge + " is 5; it must be between 1 and 4");
    expect_siglip_error(with_u32(smolvlm, merge, 3),
                        merge + " is 3, but 4 patches per side are no multiple of it");
    expect_siglip_error(with_u32(smolvlm, merge, 4),
                        "mm.model.fc.weight has the shape [256, 96]; [1024, 96] is needed");
    expect_siglip_error(renamed(smolvlm, merge), merge + " is missing");
    expect_siglip_error(with_u32(smolvlm, longest, 0), longest + " is 0; it must be between 1 and 4096");
    expect_siglip_error(with_u32(smolvlm, longest, 4097),
                        longest + " is 4097; it must be between 1 and 4096");
    expect_siglip_error(with_u32(smolvlm, longest, 4096),
                        longest + ": a picture of 32 x 32 pixels becomes 65540 tokens; the limit is 16384");
    expect_siglip_error(with_u32(gemma, merge, 3),
                        merge + " is 3, but 8 patches per side are no multiple of it");
    test::MmprojSpec usual = test::gemma3_mmproj();
    usual.merge = 0;
    usual.image_size = 48;
    expect_siglip_error(test::random_mmproj(usual),
                        "the tower has 6 patches per side, which is no multiple of 4");
    for (const std::string& file : {smolvlm, gemma}) {
        const auto reader = GgufReader::parse(test::bytes_of(file));
        ASSERT_TRUE(reader.ok());
        for (const GgufTensor& tensor : reader->tensors()) {
            const std::string name(tensor.name);
            if (name == "v.patch_embd.bias") continue;  // a tower may do without
            expect_siglip_error(renamed(file, name), name.find("ffn") == std::string::npos ? name : "ffn");
        }
    }
}

TEST(SiglipHostile, EveryDamagedHeaderByteIsSurvived) {
    const auto compute = *Compute::create({.n_threads = 1, .use_gpu = false});
    for (test::MmprojSpec spec : {test::smolvlm_mmproj(), test::gemma3_mmproj()}) {
        spec.width = 32;
        spec.n_heads = 2;
        spec.ffn_width = 64;
        spec.n_blocks = 1;
        spec.output_width = 32;
        const std::string file = test::random_mmproj(spec);
        const auto reader = GgufReader::parse(test::bytes_of(file));
        ASSERT_TRUE(reader.ok());
        const auto n_header = static_cast<std::size_t>(
            reinterpret_cast<const char*>(reader->tensors().front().data.data()) - file.data());
        std::size_t n_errors = 0;
        std::size_t n_working = 0;
        for (std::size_t i = 0; i < n_header; ++i) {
            for (const int change : {0x01, 0x80}) {
                std::string damaged = file;
                damaged[i] = static_cast<char>(damaged[i] ^ change);
                const auto model = VisionModel::load_bytes(test::bytes_of(damaged), {}, compute);
                if (!model.ok()) {
                    ++n_errors;
                    continue;
                }
                const auto plan = (*model)->plan({50, 30}, {});
                if (!plan.ok()) {
                    ++n_errors;
                    continue;
                }
                const auto session = VisionSession::create(*model);
                ASSERT_TRUE(session.ok());
                const PixelSize size = plan->pieces.front().size;
                const PiecePixels pixels = {
                    plan->pieces.front(),
                    std::vector<float>(3 * static_cast<std::size_t>(size.width * size.height), 0.25F)};
                const std::size_t last = (*model)->info().n_blocks - 1;
                const auto layers = (*session)->encode(pixels, {.layers = {last}});
                const bool works =
                    layers.ok() && (*session)->project(*layers, {{.layer = last, .weight = 1.0}}).ok();
                (works ? n_working : n_errors)++;
            }
        }
        EXPECT_GT(n_errors, n_working);
        EXPECT_GT(n_working, 0U);
    }
}

}  // namespace
}  // namespace clasp::model
