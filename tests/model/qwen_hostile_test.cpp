// Damaged and malicious vision files of Qwen's families: one clear line each, never a crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "support/gguf_edit.h"
#include "support/qwen_vision.h"

namespace clasp::model {
namespace {

using test::bytes_of;
using test::EditedGguf;
using test::QwenKind;
using testing::HasSubstr;

std::string tiny_qwen(QwenKind kind) {
    test::QwenMmprojSpec spec;
    spec.kind = kind;
    spec.image_size = 16;
    spec.patch_size = 4;
    spec.width = 32;
    spec.n_heads = 2;
    spec.ffn_width = 20;
    spec.n_blocks = 3;
    spec.output_width = 32;
    return test::random_qwen_mmproj(spec);
}

// Loads the file and, if that works, runs a picture through it.
Status use_qwen(const std::string& file) {
    static const std::shared_ptr<Compute> compute = *Compute::create({.n_threads = 1, .use_gpu = false});
    const auto model = VisionModel::load_bytes(bytes_of(file), {}, compute);
    if (!model.ok()) return model.status();
    const auto session = VisionSession::create(*model);
    const auto plan = (*model)->plan({40, 24}, {});
    if (!plan.ok()) return plan.status();
    const auto pieces = (*model)->preprocess(test::random_picture({40, 24}, 1), *plan, Compat::Original);
    if (!pieces.ok()) return pieces.status();
    const std::size_t last = (*model)->info().n_blocks - 1;
    const auto layers = (*session)->encode(pieces->front(), {.layers = {last}});
    if (!layers.ok()) return layers.status();
    return (*session)->project(*layers, {{.layer = last, .weight = 1.0}}).status();
}

void expect_refused(const EditedGguf& file, Code code, const std::string& text) {
    const Status status = use_qwen(file.bytes());
    ASSERT_FALSE(status.ok()) << text;
    EXPECT_EQ(status.code(), code) << status.message();
    EXPECT_THAT(status.message(), HasSubstr(text));
    EXPECT_THAT(status.message(), testing::Not(HasSubstr("\n")));
}

TEST(QwenHostile, KeysOutOfRangeAreNamed) {
    const EditedGguf good = EditedGguf::parse(tiny_qwen(QwenKind::Qwen25));
    ASSERT_TRUE(use_qwen(good.bytes()).ok()) << use_qwen(good.bytes()).message();
    const auto with = [&](const char* key, std::uint32_t value) {
        EditedGguf file = good;
        file.key(std::string("clip.vision.") + key).set(GgufType::U32, value);
        return file;
    };
    expect_refused(with("n_wa_pattern", 0), Code::Corrupt, "n_wa_pattern is 0; it must be between 1 and 3");
    expect_refused(with("n_wa_pattern", 4), Code::Corrupt, "n_wa_pattern is 4; it must be between 1 and 3");
    expect_refused(with("spatial_merge_size", 0), Code::Unsupported,
                   "spatial_merge_size is 0; only 2 is supported");
    expect_refused(with("spatial_merge_size", 3), Code::Unsupported,
                   "spatial_merge_size is 3; only 2 is supported");
    expect_refused(with("window_size", 7), Code::Corrupt, "windows of 7 pixels hold no token of 8");
    expect_refused(with("window_size", 0), Code::Corrupt, "window_size is 0");
    expect_refused(with("patch_size", 0), Code::Corrupt, "patch_size is 0");
    expect_refused(with("patch_size", 65), Code::Corrupt, "patch_size is 65; it must be between 1 and 64");
    expect_refused(with("attention.head_count", 3), Code::Corrupt, "no width that divides by 4");
    expect_refused(with("attention.head_count", 16), Code::Corrupt, "no width that divides by 4");
    expect_refused(with("block_count", 4), Code::Corrupt, "v.blk.3.ln1.weight is missing");
    expect_refused(with("embedding_length", 64), Code::Corrupt,
                   "mm.0.weight takes 128 inputs; 256 are needed");

    EditedGguf other = good;
    other.key("clip.use_gelu").set(GgufType::Bool, std::uint8_t{1});
    expect_refused(other, Code::Unsupported, "clip.use_gelu is set, unlike in all towers");
    other = good;
    other.key("clip.use_silu").set(GgufType::Bool, std::uint8_t{0});
    expect_refused(other, Code::Unsupported, "clip.use_silu is not set, unlike in all towers");

    EditedGguf older = EditedGguf::parse(tiny_qwen(QwenKind::Qwen2));
    ASSERT_TRUE(use_qwen(older.bytes()).ok());
    older.key("clip.vision.n_wa_pattern").set(GgufType::U32, std::uint32_t{2});
    expect_refused(older, Code::Unsupported, "towers of type qwen2vl_merger have no windows");
}

TEST(QwenHostile, EveryMissingOrMisshapenTensorIsNamed) {
    for (const QwenKind kind : {QwenKind::Qwen2, QwenKind::Qwen25}) {
        const EditedGguf good = EditedGguf::parse(tiny_qwen(kind));
        for (std::size_t i = 0; i < good.tensors.size(); ++i) {
            const std::string& name = good.tensors[i].name;
            EditedGguf missing = good;
            missing.tensors[i].name = "X" + name;
            expect_refused(missing, Code::Corrupt, name);
            EditedGguf misshapen = good;
            // Twice the last side, as if it had more rows; the data grow with it.
            misshapen.tensors[i].shape.back() *= 2;
            misshapen.tensors[i].data += misshapen.tensors[i].data;
            // The rows of the first matrices tell the widths behind them, so those may be blamed.
            const bool tells = name == "v.blk.0.ffn_up.weight" || name.starts_with("mm.");
            expect_refused(misshapen, Code::Corrupt, tells ? "" : name);
        }
    }
}

TEST(QwenHostile, PositionsAndMergersOfQwen3AreChecked) {
    const EditedGguf good = EditedGguf::parse(tiny_qwen(QwenKind::Qwen3));
    ASSERT_TRUE(use_qwen(good.bytes()).ok()) << use_qwen(good.bytes()).message();
    EditedGguf table = good;
    table.tensor("v.position_embd.weight")->shape.back() *= 2;
    table.tensor("v.position_embd.weight")->data += table.tensor("v.position_embd.weight")->data;
    expect_refused(table, Code::Corrupt, "v.position_embd.weight has 32 rows, which is no square table");
    EditedGguf gone = good;
    gone.tensor("v.deepstack.1.fc1.weight")->name = "x";
    expect_refused(gone, Code::Corrupt,
                   "is_deepstack_layers names block 1, but tensor v.deepstack.1.fc1.weight");
    EditedGguf wide = good;
    wide.tensor("v.deepstack.1.fc2.weight")->shape.back() *= 2;
    wide.tensor("v.deepstack.1.fc2.weight")->data += wide.tensor("v.deepstack.1.fc2.weight")->data;
    expect_refused(wide, Code::Corrupt,
                   "v.deepstack.1.fc2.weight has the shape [128, 64]; [128, 32] is needed");
    EditedGguf silent = good;
    std::erase_if(silent.keys, [](const auto& key) { return key.name == "clip.vision.is_deepstack_layers"; });
    EXPECT_TRUE(use_qwen(silent.bytes()).ok()) << "the tensors tell";
}

TEST(QwenHostile, ValuesThatAreNotFiniteAreNamed) {
    EditedGguf file = EditedGguf::parse(tiny_qwen(QwenKind::Qwen25));
    std::string& data = file.tensor("v.post_ln.weight")->data;
    data.replace(0, 4, std::string("\x00\x00\x80\x7F", 4));  // infinity
    expect_refused(file, Code::Corrupt, "not finite");
}

TEST(QwenHostile, DamagedHeadersAreSurvived) {
    for (const QwenKind kind : {QwenKind::Qwen2, QwenKind::Qwen25, QwenKind::Qwen3}) {
        const std::string file = tiny_qwen(kind);
        const auto reader = GgufReader::parse(bytes_of(file));
        ASSERT_TRUE(reader.ok());
        const char* first = reinterpret_cast<const char*>(reader->tensors().front().data.data());
        std::size_t n_errors = 0;
        std::size_t n_working = 0;
        for (std::size_t i = 0; i < static_cast<std::size_t>(first - file.data()); ++i) {
            std::string damaged = file;
            const int change = i % 3 == 0 ? 0x01 : i % 3 == 1 ? 0x80 : 0xFF;
            damaged[i] = static_cast<char>(damaged[i] ^ change);
            (use_qwen(damaged).ok() ? n_working : n_errors)++;
        }
        EXPECT_GT(n_errors, n_working);
        EXPECT_GT(n_working, 0U);
    }
}

TEST(QwenHostile, ThinPicturesAreRefusedAndSmallOnesAreNot) {
    const std::string file = tiny_qwen(QwenKind::Qwen25);
    const auto layout = [&](PixelSize picture, Compat compat) {
        return plan_vision(bytes_of(file), picture, {.compat = compat});
    };
    EXPECT_EQ(layout({1, 1}, Compat::Original)->grid, (Grid{2, 2}));
    EXPECT_EQ(layout({1, 1}, Compat::LlamaCpp)->grid, (Grid{3, 3}));
    const auto thin = layout({1, 65535}, Compat::Original);
    ASSERT_FALSE(thin.ok());
    EXPECT_THAT(thin.status().message(), HasSubstr("1 x 65535 pixels is too thin"));
}

}  // namespace
}  // namespace clasp::model
