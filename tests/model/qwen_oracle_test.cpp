// The compatible mode of Qwen's towers against llama.cpp's own encoder: same file, same picture, same
// process.
#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/decoder_case.h"
#include "support/mtmd_oracle.h"
#include "support/paths.h"
#include "support/qwen_vision.h"

namespace clasp::model {
namespace {

using test::QwenKind;
using test::QwenMmprojSpec;
using test::relative_error;

struct OracleCase {
    const char* name;
    QwenKind kind;
    ggml_type type;
    std::size_t ffn_width;
    double tolerance;
};

class QwenOracle : public testing::TestWithParam<OracleCase> {};

QwenMmprojSpec spec_of(const OracleCase& oracle, std::uint64_t seed) {
    QwenMmprojSpec spec;
    spec.kind = oracle.kind;
    spec.matrix_type = oracle.type;
    spec.ffn_width = oracle.ffn_width;
    spec.seed = seed;
    if (spec.kind == QwenKind::Qwen3) {
        spec.patch_size = 16;
        spec.deepstack = {0, 2};
    }
    return spec;
}

// llama.cpp's order: the windows row by row, whatever their size.
PatchOrder llama_cpp_order(const PieceShape& shape, std::size_t window) {
    if (window == 0) return patch_order(shape, 0);
    PatchOrder order;
    for (const TokenWindow& at : token_windows(shape.tokens(), window)) {
        for (std::size_t token = 0; token < at.size.height * at.size.width; ++token) {
            for (std::size_t patch = 0; patch < 4; ++patch) {
                const std::size_t y = 2 * (at.row + token / at.size.width) + patch / 2;
                const std::size_t x = 2 * (at.column + token % at.size.width) + patch % 2;
                order.rows.push_back({static_cast<std::int32_t>(y), static_cast<std::int32_t>(x)});
            }
        }
    }
    return order;
}

// Two tables of n rows as one.
std::vector<float> rows_beside(const std::vector<float>& a, const std::vector<float>& b, std::size_t n) {
    std::vector<float> rows;
    for (std::size_t i = 0; i < n; ++i) {
        for (const std::vector<float>* table : {&a, &b}) {
            const auto width = static_cast<std::ptrdiff_t>(table->size() / n);
            const auto from = table->begin() + static_cast<std::ptrdiff_t>(i) * width;
            rows.insert(rows.end(), from, from + width);
        }
    }
    return rows;
}

TEST_P(QwenOracle, EveryLayerAndTheTokensAgree) {
    const QwenMmprojSpec spec = spec_of(GetParam(), 3);
    const test::RandomLlama text_spec =
        test::random_architecture(spec.kind == QwenKind::Qwen3 ? "qwen3vl" : "qwen2vl");
    const std::size_t n_branches = spec.kind == QwenKind::Qwen3 ? spec.deepstack.size() : 0;
    const std::size_t n_all = spec.output_width * (1 + n_branches);
    test::LoadedQwen loaded = test::load_qwen(spec, {.weights = VisionWeights::File});
    const std::size_t width = spec.width;
    const std::string path = std::string(test::scratch_dir()) + "/qwen_" + GetParam().name + ".gguf";
    std::ofstream(path, std::ios::binary) << loaded.file;
    const auto text = test::load_random_llama("qwen_oracle_text", text_spec);
    test::MtmdOracle oracle(path, 1, true, text->handle());
    ASSERT_TRUE(oracle.ok());
    const std::size_t window = spec.kind == QwenKind::Qwen25 ? 4 : 0;
    for (const PixelSize size :
         {PixelSize{168, 140}, {224, 28}, {644, 476}, {150, 131}, {70, 70}, {20, 33}}) {
        SCOPED_TRACE(std::to_string(size.width) + " x " + std::to_string(size.height));
        const Image picture = test::random_picture(size, 5);
        const PiecePixels piece = test::piece_of(*loaded.model, picture, Compat::LlamaCpp);
        const PieceShape& shape = piece.piece.shape;
        const std::vector<float> wanted = oracle.encode_picture(
            picture.rgb, static_cast<std::size_t>(size.width), static_cast<std::size_t>(size.height), n_all);
        ASSERT_EQ(wanted.size(), shape.n_tokens() * n_all);
        const auto blocks = test::blocks_of(*loaded.model);
        ASSERT_EQ(oracle.layers().size(), blocks.size());
        const auto got = loaded.session->encode(piece, {.compat = Compat::LlamaCpp, .layers = blocks});
        ASSERT_TRUE(got.ok()) << got.status().message();
        const PatchOrder ours = patch_order(shape, window);
        const PatchOrder theirs = llama_cpp_order(shape, window);
        for (const std::size_t block : blocks) {
            const auto seen = test::by_picture(got->layers[block].values, ours, shape.patches.width, width);
            const auto expected =
                test::by_picture(oracle.layers().at(block), theirs, shape.patches.width, width);
            EXPECT_LE(relative_error(seen, expected), GetParam().tolerance) << "block " << block;
        }
        const auto tokens = loaded.session->project(*got, {{.layer = blocks.back(), .weight = 1.0}});
        ASSERT_TRUE(tokens.ok()) << tokens.status().message();
        const auto additions = loaded.session->project_branches(*got);
        ASSERT_TRUE(additions.ok()) << additions.status().message();
        const std::vector<float> all = rows_beside(tokens->values, *additions, shape.n_tokens());
        EXPECT_LE(relative_error(all, wanted), GetParam().tolerance);

        // Of one block fewer the tokens are something else: the comparison above can fail.
        const auto fewer = loaded.session->project(*got, {{.layer = blocks.size() - 2, .weight = 1.0}});
        ASSERT_TRUE(fewer.ok());
        EXPECT_GT(relative_error(rows_beside(fewer->values, *additions, shape.n_tokens()), wanted), 0.05);
    }
}

// Two frames that llama.cpp merges into one are a step of ours.
TEST_P(QwenOracle, PairsOfFramesAgree) {
    const QwenMmprojSpec spec = spec_of(GetParam(), 4);
    const test::RandomLlama text_spec =
        test::random_architecture(spec.kind == QwenKind::Qwen3 ? "qwen3vl" : "qwen2vl");
    const std::size_t n_branches = spec.kind == QwenKind::Qwen3 ? spec.deepstack.size() : 0;
    const std::size_t n_all = spec.output_width * (1 + n_branches);
    test::LoadedQwen loaded = test::load_qwen(spec, {.weights = VisionWeights::File});
    const std::string path = std::string(test::scratch_dir()) + "/qwen_pairs_" + GetParam().name + ".gguf";
    std::ofstream(path, std::ios::binary) << loaded.file;
    const auto text = test::load_random_llama("qwen_pairs_text", text_spec);
    test::MtmdOracle oracle(path, 1, false, text->handle());
    ASSERT_TRUE(oracle.ok());
    const PixelSize size = {168, 140};
    std::vector<Image> frames;
    for (std::uint32_t i = 0; i < 4; ++i) frames.push_back(test::random_picture(size, 20 + i));
    const auto plan =
        loaded.model->plan_clip({size, {0.0, 0.5, 1.0, 1.5}, 2.0}, {.compat = Compat::LlamaCpp});
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    PieceRenderer renderer(*plan);
    for (std::size_t i = 0; i < frames.size(); ++i) ASSERT_TRUE(renderer.add(frames[i], i).ok());
    const auto pieces = loaded.model->pieces_of(renderer, Compat::LlamaCpp);
    ASSERT_TRUE(pieces.ok()) << pieces.status().message();
    ASSERT_EQ(pieces->size(), 2U);
    std::vector<float> all;
    const auto blocks = test::blocks_of(*loaded.model);
    for (const PiecePixels& piece : *pieces) {
        const auto got = loaded.session->encode(piece, {.compat = Compat::LlamaCpp, .layers = blocks});
        ASSERT_TRUE(got.ok()) << got.status().message();
        const auto tokens = loaded.session->project(*got, {{.layer = blocks.back(), .weight = 1.0}});
        const auto additions = loaded.session->project_branches(*got);
        ASSERT_TRUE(tokens.ok() && additions.ok());
        const auto rows = rows_beside(tokens->values, *additions, piece.piece.shape.n_tokens());
        all.insert(all.end(), rows.begin(), rows.end());
    }
    const std::vector<float> wanted = oracle.encode_clip(frames, n_all);
    ASSERT_EQ(wanted.size(), all.size());
    EXPECT_LE(relative_error(all, wanted), GetParam().tolerance);
    std::filesystem::remove(path);
}

// Where the operations are the same, so are the bits. Feed-forward parts of odd width are padded here and not
// there, and windows are attended to one by one: sums run in another order, and half precision shows it.
INSTANTIATE_TEST_SUITE_P(Files, QwenOracle,
                         testing::Values(OracleCase{"Qwen2F32", QwenKind::Qwen2, GGML_TYPE_F32, 64, 0.0},
                                         OracleCase{"Qwen2F16", QwenKind::Qwen2, GGML_TYPE_F16, 64, 0.0},
                                         OracleCase{"Qwen2Odd", QwenKind::Qwen2, GGML_TYPE_F32, 60, 1e-3},
                                         OracleCase{"Qwen3F32", QwenKind::Qwen3, GGML_TYPE_F32, 64, 1e-3},
                                         OracleCase{"Qwen3F16", QwenKind::Qwen3, GGML_TYPE_F16, 60, 2e-3},
                                         OracleCase{"Qwen25F32", QwenKind::Qwen25, GGML_TYPE_F32, 60, 1e-3},
                                         OracleCase{"Qwen25F16", QwenKind::Qwen25, GGML_TYPE_F16, 60, 2e-3},
                                         OracleCase{"Qwen25Q8_0", QwenKind::Qwen25, GGML_TYPE_Q8_0, 64,
                                                    3e-2}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace clasp::model
