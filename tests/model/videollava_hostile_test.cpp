// Vision files of Video-LLaVA that are not as they should be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "model/vision_model.h"
#include "support/gguf_edit.h"
#include "support/random_mmproj.h"
#include "support/vision_fixture.h"

namespace clasp::model {
namespace {

using test::EditedGguf;
using test::VideoParts;
using testing::HasSubstr;

EditedGguf small_video(const VideoParts& parts = {.n_frames = 4}) {
    test::MmprojSpec spec = test::videollava_mmproj(parts);
    spec.width = 32;
    spec.n_heads = 2;
    spec.ffn_width = 64;
    spec.n_blocks = 1;
    spec.image_size = 28;
    spec.projector_width = spec.output_width = 32;
    return EditedGguf::parse(test::random_mmproj(spec));
}

void expect_refusal(const EditedGguf& file, const std::string& text) {
    const auto info = inspect_vision(test::bytes_of(file.bytes()));
    ASSERT_FALSE(info.ok()) << text;
    EXPECT_THAT(info.status().message(), HasSubstr(text));
    EXPECT_EQ(info.status().message().find('\n'), std::string::npos);
}

EditedGguf edited_video(const std::function<void(EditedGguf&)>& edit,
                        const VideoParts& parts = {.n_frames = 4}) {
    EditedGguf file = small_video(parts);
    edit(file);
    return file;
}

EditedGguf with_video_number(const std::string& key, std::uint32_t value) {
    return edited_video([&](EditedGguf& file) { file.key(key).set(GgufType::U32, value); });
}

EditedGguf with_video_flag(const std::string& key, bool value, const VideoParts& parts = {.n_frames = 4}) {
    return edited_video([&](EditedGguf& file) { file.key(key).set(GgufType::Bool, std::uint8_t{value}); },
                        parts);
}

EditedGguf without_video_key(const std::string& key) {
    return edited_video([&](EditedGguf& file) {
        std::erase_if(file.keys, [&](const test::EditedKey& each) { return each.name == key; });
    });
}

TEST(VideoLlavaHostile, KeysThatMakeNoSenseAreNamed) {
    const std::string frames = "clip.video.frame_count";
    ASSERT_TRUE(inspect_vision(test::bytes_of(small_video().bytes())).ok());
    expect_refusal(with_video_number(frames, 8),
                   frames + " is 8, but tensor vv.blk.0.t_embd has rows for 4 frames");
    expect_refusal(with_video_number(frames, 1), frames + " is 1; it must be between 2 and 64");
    expect_refusal(with_video_number(frames, 65), frames + " is 65; it must be between 2 and 64");
    expect_refusal(with_video_number("clip.video.block_count", 2),
                   "clip.video.block_count is 2, but clip.vision.block_count is 1");
    expect_refusal(with_video_flag("clip.video.temporal_attention", false),
                   "clip.video.temporal_attention is not set, but there is tensor vv.blk.0.t_embd");
    expect_refusal(with_video_flag("clip.video.temporal_attention", true, {.n_frames = 4, .has_time = false}),
                   "clip.video.temporal_attention is set, but tensor vv.blk.0.t_embd is missing");
    expect_refusal(with_video_flag("clip.gelu_exact", false), "clip.gelu_exact");
    expect_refusal(with_video_number("clip.vision.feature_layer", 1), "clip.vision.feature_layer");
    for (const char* key : {"clip.video.frame_count", "clip.video.block_count", "clip.video.keep_class_token",
                            "clip.video.preprocess", "videollava.source", "clip.use_gelu"}) {
        expect_refusal(without_video_key(key), key);
        expect_refusal(edited_video([&](EditedGguf& file) { file.key(key).set_numbers({1, 2}); }), key);
    }
    expect_refusal(
        edited_video([](EditedGguf& file) { file.key("clip.video.preprocess").set_text("decord"); }),
        "clip.video.preprocess is 'decord'; known are languagebind and clip");
    expect_refusal(edited_video([](EditedGguf& file) { file.key("videollava.source").set_text("me"); }),
                   "videollava.source is 'me'; known are authors and hf");
}

// Without the key the tensors tell.
TEST(VideoLlavaHostile, TheTensorsTellWhetherThereIsATemporalPart) {
    const auto info =
        inspect_vision(test::bytes_of(without_video_key("clip.video.temporal_attention").bytes()));
    ASSERT_TRUE(info.ok()) << info.status().message();
    EXPECT_TRUE(info->clip->has_temporal_part);
    EditedGguf port = small_video({.n_frames = 4, .has_time = false});
    std::erase_if(port.keys, [](const auto& key) { return key.name == "clip.video.temporal_attention"; });
    const auto of_port = inspect_vision(test::bytes_of(port.bytes()));
    ASSERT_TRUE(of_port.ok()) << of_port.status().message();
    EXPECT_FALSE(of_port->clip->has_temporal_part);
}

// A tensor of another shape, of the pictures' tower, the frames', or the temporal part, is named with both.
TEST(VideoLlavaHostile, EveryTensorOfAnotherShapeIsNamed) {
    const EditedGguf good = small_video();
    for (std::size_t i = 0; i < good.tensors.size(); ++i) {
        EditedGguf bad = good;
        test::EditedTensor& tensor = bad.tensors[i];
        // As many numbers in another order of sides, or one row less.
        if (tensor.shape.size() > 1 && tensor.shape.front() != tensor.shape.back()) {
            std::swap(tensor.shape.front(), tensor.shape.back());
        } else {
            tensor.data.resize(tensor.data.size() / 2);
            tensor.shape.back() /= 2;
        }
        const auto info = inspect_vision(test::bytes_of(bad.bytes()));
        ASSERT_FALSE(info.ok()) << tensor.name;
        const bool is_named = info.status().message().find(tensor.name) != std::string::npos ||
                              info.status().message().find("ffn") != std::string::npos ||
                              info.status().message().find("mm.") != std::string::npos;
        EXPECT_TRUE(is_named) << tensor.name << ": " << info.status().message();
    }
}

// What is missing in the frames' tower is the pictures', but for the temporal part.
TEST(VideoLlavaHostile, MissingTensorsAreNamed) {
    const EditedGguf good = small_video();
    for (const test::EditedTensor& tensor : good.tensors) {
        EditedGguf bad = good;
        std::erase_if(bad.tensors, [&](const auto& each) { return each.name == tensor.name; });
        const auto info = inspect_vision(test::bytes_of(bad.bytes()));
        const bool may_lack = tensor.name.starts_with("vv.") && tensor.name.find(".t_") == std::string::npos;
        EXPECT_EQ(info.ok(), may_lack) << tensor.name;
        if (info.ok()) continue;
        EXPECT_THAT(info.status().message(), HasSubstr(tensor.name));
    }
}

TEST(VideoLlavaHostile, TensorsThatNothingReadsAreRefused) {
    for (const char* name : {"v.blk.1.ln1.weight", "vv.blk.0.t_ffn.weight", "mm.1.weight"}) {
        expect_refusal(edited_video([&](EditedGguf& file) {
                           test::EditedTensor more = *file.tensor("v.blk.0.ln1.weight");
                           more.name = name;
                           file.tensors.push_back(more);
                       }),
                       name);
    }
    // Behind the last block that is read.
    EditedGguf norm = small_video();
    test::EditedTensor more = *norm.tensor("v.blk.0.ln1.weight");
    more.name = "v.post_ln.weight";
    norm.tensors.push_back(more);
    EXPECT_TRUE(inspect_vision(test::bytes_of(norm.bytes())).ok());
}

TEST(VideoLlavaHostile, DamagedHeadersAreSurvived) {
    const auto compute = *Compute::create({.n_threads = 1, .use_gpu = false});
    const std::string file = small_video({.n_frames = 2, .has_own_tower = false}).bytes();
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
            if (!model.ok() || !(*model)->info().clip) {
                ++n_errors;
                continue;
            }
            ClipFrames clip = {{50, 30}, {}, 2.0};
            clip.seconds.resize((*model)->info().clip->n_frames, 0.0);
            const auto plan = (*model)->plan_clip(clip, {});
            const auto session = VisionSession::create(*model);
            ASSERT_TRUE(session.ok());
            if (!plan.ok()) {
                ++n_errors;
                continue;
            }
            std::vector<PiecePixels> pieces;
            for (std::size_t p = 0; p < plan->pieces_at_once; ++p) {
                const PixelSize size = plan->pieces[p].size;
                pieces.push_back(
                    {plan->pieces[p],
                     std::vector<float>(3 * static_cast<std::size_t>(size.width * size.height), 0.25F)});
            }
            const std::size_t last = (*model)->info().n_blocks - 1;
            const auto layers = (*session)->encode_group(pieces, {.layers = {last}});
            const bool works =
                layers.ok() && (*session)->project(layers->back(), {{.layer = last, .weight = 1.0}}).ok();
            (works ? n_working : n_errors)++;
        }
    }
    EXPECT_GT(n_errors, n_working);
    EXPECT_GT(n_working, 0U);
}

}  // namespace
}  // namespace clasp::model
