// Qwen's towers against a slow reference of the original models.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "support/qwen_vision.h"
#include "support/reference_qwen.h"

namespace clasp::model {
namespace {

using test::load_qwen;
using test::LoadedQwen;
using test::QwenKind;
using test::QwenMmprojSpec;
using test::relative_error;

constexpr VisionWeights kAsStored = VisionWeights::File;
constexpr VisionWeights kInI16 = VisionWeights::I16;

struct QwenCase {
    const char* name;
    QwenMmprojSpec spec;
    VisionWeights weights;
    double tolerance;
    PixelSize picture = {168, 140};  // 6 x 5 tokens
};

std::size_t window_of(const QwenMmprojSpec& spec) {
    return spec.kind == QwenKind::Qwen25 ? 4 : 0;
}

class QwenReference : public testing::TestWithParam<QwenCase> {};

TEST_P(QwenReference, EveryLayerKeysAndFusedTokens) {
    const QwenMmprojSpec& spec = GetParam().spec;
    const double tolerance = GetParam().tolerance;
    LoadedQwen loaded = load_qwen(spec, {.weights = GetParam().weights});
    const auto reader = GgufReader::parse(test::bytes_of(loaded.file));
    ASSERT_TRUE(reader.ok());
    const Image picture = test::random_picture(GetParam().picture, 3);
    const PiecePixels piece = test::piece_of(*loaded.model, picture, Compat::Original);
    const test::ReferenceQwen reference(*reader);
    const test::ReferenceQwen::Layers wanted =
        reference.encode(piece.values, static_cast<std::size_t>(piece.piece.size.width),
                         static_cast<std::size_t>(piece.piece.size.height));

    const auto blocks = test::blocks_of(*loaded.model);
    const auto got = loaded.session->encode(piece, {.layers = blocks, .keys = blocks});
    ASSERT_TRUE(got.ok()) << got.status().message();
    const PatchOrder order = patch_order(piece.piece.shape, window_of(spec));
    for (const std::size_t block : blocks) {
        const auto rows = test::by_picture(got->layers[block].values, order, wanted.columns, spec.width);
        EXPECT_LT(relative_error(rows, wanted.layers[block].values), tolerance) << "block " << block;
        const auto keys = test::by_picture(got->keys[block].values, order, wanted.columns, spec.width);
        EXPECT_LT(relative_error(keys, wanted.keys[block].values), tolerance) << "block " << block;
    }

    const std::size_t last = loaded.model->info().feature_layer;
    const auto tokens =
        loaded.session->project(*got, {{.layer = 1, .weight = 0.25}, {.layer = last, .weight = 0.75}});
    ASSERT_TRUE(tokens.ok()) << tokens.status().message();
    test::Matrix fused = wanted.layers[1];
    for (std::size_t i = 0; i < fused.values.size(); ++i) {
        fused.values[i] = 0.25 * fused.values[i] + 0.75 * wanted.layers[last].values[i];
    }
    EXPECT_LT(relative_error(tokens->values, reference.project(fused, wanted.columns).values), tolerance);

    // Blocks with mergers of their own: per token, one row after the other.
    const std::vector<std::size_t>& branches = loaded.model->info().branch_layers;
    EXPECT_EQ(branches, spec.kind == QwenKind::Qwen3 ? spec.deepstack : std::vector<std::size_t>());
    const auto additions = loaded.session->project_branches(*got);
    ASSERT_TRUE(additions.ok()) << additions.status().message();
    std::vector<double> rows(additions->size());
    for (std::size_t i = 0; i < branches.size(); ++i) {
        const test::Matrix one = reference.branch(wanted.layers[branches[i]], branches[i], wanted.columns);
        for (std::size_t k = 0; k < one.values.size(); ++k) {
            rows[(k / one.columns * branches.size() + i) * one.columns + k % one.columns] = one.values[k];
        }
    }
    if (!rows.empty()) {
        EXPECT_LT(relative_error(*additions, rows), tolerance);
    }
}

QwenMmprojSpec qwen3(ggml_type type) {
    QwenMmprojSpec spec;
    spec.kind = QwenKind::Qwen3;
    spec.matrix_type = type;
    spec.patch_size = 16;
    spec.image_size = 112;  // 7 x 7 positions
    spec.deepstack = {0, 2};
    return spec;
}

QwenMmprojSpec qwen(QwenKind kind, ggml_type type, bool swapped = false) {
    QwenMmprojSpec spec;
    spec.kind = kind;
    spec.matrix_type = type;
    spec.swapped_ffn_names = swapped;
    return spec;
}

constexpr QwenKind k2 = QwenKind::Qwen2;
constexpr QwenKind k25 = QwenKind::Qwen25;

// ggml rounds quick GELU to half precision, and activations too where weights are in half precision.
INSTANTIATE_TEST_SUITE_P(
    Files, QwenReference,
    testing::Values(QwenCase{"Qwen25F32", qwen(k25, GGML_TYPE_F32), kAsStored, 2e-5},
                    QwenCase{"Qwen25F32Line", qwen(k25, GGML_TYPE_F32), kAsStored, 2e-5, {224, 28}},
                    QwenCase{"Qwen25F32Column", qwen(k25, GGML_TYPE_F32), kAsStored, 2e-5, {28, 280}},
                    QwenCase{"Qwen25F32WholeWindows", qwen(k25, GGML_TYPE_F32), kAsStored, 2e-5, {224, 112}},
                    QwenCase{"Qwen25F16", qwen(k25, GGML_TYPE_F16), kAsStored, 3e-3},
                    QwenCase{"Qwen25Q8_0", qwen(k25, GGML_TYPE_Q8_0), kAsStored, 3e-2},
                    QwenCase{"Qwen25AsI16", qwen(k25, GGML_TYPE_F32), kInI16, 3e-3},
                    QwenCase{"Qwen25LineAsI16", qwen(k25, GGML_TYPE_F32), kInI16, 3e-3, {224, 28}},
                    QwenCase{"Qwen25AsQ8", qwen(k25, GGML_TYPE_F32), VisionWeights::Q8, 3e-2},
                    QwenCase{"Qwen3F32", qwen3(GGML_TYPE_F32), kAsStored, 1e-3},
                    QwenCase{"Qwen3F32Line", qwen3(GGML_TYPE_F32), kAsStored, 1e-3, {32, 512}},
                    QwenCase{"Qwen3F16", qwen3(GGML_TYPE_F16), kAsStored, 3e-3},
                    QwenCase{"Qwen3AsI16", qwen3(GGML_TYPE_F32), kInI16, 3e-3, {320, 256}},
                    QwenCase{"Qwen2F32", qwen(k2, GGML_TYPE_F32), kAsStored, 1e-3},
                    QwenCase{"Qwen2SwappedF16", qwen(k2, GGML_TYPE_F16, true), kAsStored, 3e-3},
                    QwenCase{"Qwen2AsI16", qwen(k2, GGML_TYPE_F32), kInI16, 3e-3}),
    [](const auto& test) { return test.param.name; });

// Windows see nothing of each other in blocks that look at windows alone: what one shows does not change what
// comes out for another.
TEST(QwenTower, WindowsAreBlind) {
    for (const VisionWeights weights : {kAsStored, kInI16}) {
        LoadedQwen loaded = load_qwen(qwen(k25, GGML_TYPE_F32), {.weights = weights});
        const Image picture = test::random_picture({168, 140}, 3);
        Image other = picture;
        other.rgb.back() ^= 0x80;  // in the last window, of two tokens
        std::vector<std::vector<float>> first;
        std::vector<std::vector<float>> second;
        for (const Image* image : {&picture, static_cast<const Image*>(&other)}) {
            const PiecePixels piece = test::piece_of(*loaded.model, *image, Compat::Original);
            const auto got = loaded.session->encode(piece, {.layers = {0, 1}});
            ASSERT_TRUE(got.ok()) << got.status().message();
            const std::vector<float>& all = got->layers[0].values;
            first.emplace_back(all.begin(), all.end() - 8 * 64);
            second.push_back(got->layers[1].values);
        }
        EXPECT_EQ(first[0], first[1]);
        std::size_t n_changed = 0;
        for (std::size_t i = 0; i < second[0].size(); ++i) {
            if (second[0][i] != second[1][i]) ++n_changed;
        }
        EXPECT_GT(n_changed, second[0].size() / 2) << "block 1 sees the whole picture";
    }
}

TEST(QwenTower, ThreadsAndStoppingEarlyChangeNothing) {
    for (const VisionWeights weights : {kAsStored, kInI16}) {
        const Image picture = test::random_picture({150, 131}, 5);
        std::vector<float> wanted;
        for (const std::size_t n_threads : {1U, 2U}) {
            LoadedQwen loaded = load_qwen(qwen(k25, GGML_TYPE_F16), {.weights = weights}, n_threads);
            const PiecePixels piece = test::piece_of(*loaded.model, picture, Compat::Original);
            const auto all = loaded.session->encode(piece, {.layers = {1, 3}});
            const auto early = loaded.session->encode(piece, {.layers = {1}, .keys = {2}});
            ASSERT_TRUE(all.ok() && early.ok());
            EXPECT_EQ(all->layers[0].values, early->layers[0].values);
            EXPECT_EQ(early->keys[0].values.size(), piece.piece.shape.n_patches() * 64);
            if (wanted.empty()) wanted = all->layers[1].values;
            EXPECT_EQ(all->layers[1].values, wanted);
        }
    }
}

TEST(QwenTower, PlansPicturesOfAnyShape) {
    const LoadedQwen loaded = load_qwen(qwen(k25, GGML_TYPE_F16));
    const VisionInfo& info = loaded.model->info();
    EXPECT_EQ(info.family, "qwen2.5-vl");
    EXPECT_EQ(info.ffn_width, 60U);
    EXPECT_EQ(info.capabilities.merge, 2U);
    EXPECT_FALSE(info.capabilities.has_class_token);
    EXPECT_EQ(info.grid, (Grid{4, 4}));
    const auto plan = loaded.model->plan({640, 480}, {});
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ(plan->layout.grid, (Grid{17, 23}));
    EXPECT_EQ(plan->layout.n_tokens(), 391U);
    ASSERT_EQ(plan->layout.regions.size(), 1U);
    EXPECT_EQ(plan->layout.regions[0].area.width, 640.0);
    EXPECT_EQ(plan->layout.regions[0].area.height, 480.0);
    ASSERT_EQ(plan->arrangement.size(), 3U);
    EXPECT_EQ(plan->arrangement[0].text, "<|vision_start|>");
    EXPECT_EQ(plan->arrangement[2].text, "<|vision_end|>");
    const auto finer = loaded.model->plan({640, 480}, {.detail = {.preset = "paper"}});
    ASSERT_TRUE(finer.ok()) << finer.status().message();
    EXPECT_EQ(finer->layout.n_tokens(), 1302U);
    const auto coarser = loaded.model->plan({1920, 1080}, {.detail = {.max_tokens = 1280}});
    ASSERT_TRUE(coarser.ok()) << coarser.status().message();
    EXPECT_EQ(coarser->layout.n_tokens(), 1222U);
    // llama.cpp keeps the aspect and pads, so its tokens reach beyond the picture.
    const auto padded = loaded.model->plan({640, 488}, {.compat = Compat::LlamaCpp});
    ASSERT_TRUE(padded.ok());
    EXPECT_EQ(padded->layout.resized, (PixelSize{625, 476}));
    EXPECT_LT(padded->layout.regions[0].area.left, 0.0);
    const auto thread = loaded.model->plan({1, 65535}, {});
    ASSERT_FALSE(thread.ok());
    EXPECT_EQ(thread.status().code(), Code::InvalidArgument);
}

// The tower of Qwen2.5-VL with the same tensors; what stands around a picture has other names.
TEST(QwenTower, ReadsFilesOfQwen25Omni) {
    QwenMmprojSpec spec = qwen(k25, GGML_TYPE_F16);
    LoadedQwen usual = load_qwen(spec);
    spec.is_omni = true;
    LoadedQwen omni = load_qwen(spec);
    EXPECT_EQ(omni.model->info().family, "qwen2.5-omni");
    EXPECT_EQ(omni.model->info().profile, "qwen2.5-vl");
    const Image picture = test::random_picture({168, 140}, 3);
    const PiecePixels piece = test::piece_of(*omni.model, picture, Compat::Original);
    const auto blocks = test::blocks_of(*omni.model);
    const auto wanted = usual.session->encode(piece, {.layers = blocks});
    const auto got = omni.session->encode(piece, {.layers = blocks});
    ASSERT_TRUE(wanted.ok() && got.ok());
    for (const std::size_t block : blocks) {
        EXPECT_EQ(got->layers[block].values, wanted->layers[block].values) << "block " << block;
    }
    const auto plan = omni.model->plan({640, 480}, {});
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(plan->layout.n_tokens(), 391U);
    EXPECT_EQ(plan->arrangement.front().text, "<|vision_bos|>");
    EXPECT_EQ(plan->arrangement.back().text, "<|vision_eos|>");
    const auto as_theirs = omni.model->plan({640, 480}, {.compat = Compat::LlamaCpp});
    ASSERT_TRUE(as_theirs.ok());
    EXPECT_EQ(as_theirs->arrangement.front().text, "<|vision_start|>");
}

}  // namespace
}  // namespace clasp::model
