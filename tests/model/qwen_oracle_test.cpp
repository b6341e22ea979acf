// The compatible mode of Qwen's towers against llama.cpp's own encoder: same file, same picture, same
// process.
#include <gtest/gtest.h>

#include <cstddef>
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

TEST_P(QwenOracle, EveryLayerAndTheTokensAgree) {
    QwenMmprojSpec spec;
    spec.kind = GetParam().kind;
    spec.matrix_type = GetParam().type;
    spec.ffn_width = GetParam().ffn_width;
    spec.seed = 3;
    test::LoadedQwen loaded = test::load_qwen(spec, {.weights = VisionWeights::File});
    const std::size_t width = spec.width;
    const std::string path = std::string(test::scratch_dir()) + "/qwen_" + GetParam().name + ".gguf";
    std::ofstream(path, std::ios::binary) << loaded.file;
    const auto text = test::load_random_llama("qwen_oracle_text", test::random_architecture("qwen2vl"));
    test::MtmdOracle oracle(path, 1, true, text->handle());
    ASSERT_TRUE(oracle.ok());
    const std::size_t window = spec.kind == QwenKind::Qwen25 ? 4 : 0;
    for (const PixelSize size :
         {PixelSize{168, 140}, {224, 28}, {644, 476}, {150, 131}, {70, 70}, {20, 33}}) {
        SCOPED_TRACE(std::to_string(size.width) + " x " + std::to_string(size.height));
        const Image picture = test::random_picture(size, 5);
        const PiecePixels piece = test::piece_of(*loaded.model, picture, Compat::LlamaCpp);
        const PieceShape& shape = piece.piece.shape;
        const std::vector<float> wanted =
            oracle.encode_picture(picture.rgb, static_cast<std::size_t>(size.width),
                                  static_cast<std::size_t>(size.height), spec.output_width);
        ASSERT_EQ(wanted.size(), shape.n_tokens() * spec.output_width);
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
        EXPECT_LE(relative_error(tokens->values, wanted), GetParam().tolerance);

        // Of one block fewer the tokens are something else: the comparison above can fail.
        const auto fewer = loaded.session->project(*got, {{.layer = blocks.size() - 2, .weight = 1.0}});
        ASSERT_TRUE(fewer.ok());
        EXPECT_GT(relative_error(fewer->values, wanted), 0.05);
    }
}

// Where the operations are the same, so are the bits. Feed-forward parts of odd width are padded here and not
// there, and windows are attended to one by one: sums run in another order, and half precision shows it.
INSTANTIATE_TEST_SUITE_P(Files, QwenOracle,
                         testing::Values(OracleCase{"Qwen2F32", QwenKind::Qwen2, GGML_TYPE_F32, 64, 0.0},
                                         OracleCase{"Qwen2F16", QwenKind::Qwen2, GGML_TYPE_F16, 64, 0.0},
                                         OracleCase{"Qwen2Odd", QwenKind::Qwen2, GGML_TYPE_F32, 60, 1e-3},
                                         OracleCase{"Qwen25F32", QwenKind::Qwen25, GGML_TYPE_F32, 60, 1e-3},
                                         OracleCase{"Qwen25F16", QwenKind::Qwen25, GGML_TYPE_F16, 60, 2e-3},
                                         OracleCase{"Qwen25Q8_0", QwenKind::Qwen25, GGML_TYPE_Q8_0, 64,
                                                    3e-2}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace clasp::model
