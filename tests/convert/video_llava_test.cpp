// Video-LLaVA: the layout of the pair of towers, of the authors' checkpoint and of Hugging Face's port.
#include <numeric>

#include "convert_case.h"

namespace clasp {
namespace {

using namespace test;
using testing::HasSubstr;

constexpr std::size_t kFrames = 8;

class VideoLlava : public ConvertCase {
   protected:
    void SetUp() override {
        ConvertCase::SetUp();
        RandomLlama text = llava_family_text();
        MmprojSpec spec = clip_family_vision();
        spec.n_blocks = 2;
        pair_ = {made_text(text), made_vision(spec)};
        width_ = key_u32(pair_.vision, "clip.vision.embedding_length");
    }

    // Numbers that no other tensor has.
    MadeTensor counted(const std::string& name, std::vector<std::uint64_t> shape) {
        std::size_t n = 1;
        for (const std::uint64_t extent : shape) n *= extent;
        std::vector<float> values(n);
        std::iota(values.begin(), values.end(), start_);
        start_ += 1000.0F;
        return {
            name, "F32", std::move(shape), {reinterpret_cast<const char*>(values.data()), n * sizeof(float)}};
    }

    // Both towers; the class row and the first norm of the clips' tower are its own.
    std::vector<MadeTensor> towers(const std::string& image, const std::string& video, bool is_temporal) {
        std::vector<MadeTensor> tensors = clip_tensors(pair_.vision, image, 1);
        for (MadeTensor tensor : clip_tensors(pair_.vision, video, 1)) {
            const std::string name = tensor.name.substr(video.size());
            if (name == "embeddings.class_embedding" || name == "encoder.layers.0.layer_norm1.weight") {
                tensor = counted(tensor.name, tensor.shape);
            }
            tensors.push_back(std::move(tensor));
        }
        for (std::size_t i = 0; is_temporal && i < 3; ++i) {
            const std::string block = video + "encoder.layers." + std::to_string(i) + ".";
            tensors.push_back(counted(block + "temporal_embedding", {1, kFrames, width_}));
            for (const std::string part : {"weight", "bias"}) {
                tensors.push_back(counted(block + "temporal_layer_norm1." + part, {width_}));
            }
            for (const std::string name : {"q", "k", "v", "out"}) {
                tensors.push_back(
                    counted(block + "temporal_attn." + name + "_proj.weight", {width_, width_}));
                tensors.push_back(counted(block + "temporal_attn." + name + "_proj.bias", {width_}));
            }
        }
        return tensors;
    }

    void write_authors(const std::string& activation) {
        base::Json config = text_config(pair_.text);
        config["architectures"] = base::Json::array({"LlavaLlamaForCausalLM"});
        config["model_type"] = "llava";
        config["mm_image_tower"] = "LanguageBind/LanguageBind_Image";
        config["mm_video_tower"] = "LanguageBind/LanguageBind_Video_merge";
        config["mm_projector_type"] = "mlp2x_gelu";
        config["mm_vision_select_layer"] = -2;
        auto tensors = text_tensors(pair_.text, "model.", "lm_head.weight");
        made_ = towers("model.image_tower.image_tower.", "model.video_tower.video_tower.", true);
        append(tensors, made_);
        append(tensors, llava_projector(pair_.vision, "model.mm_projector.0", "model.mm_projector.2"));
        finish(pair_, tensors, config, {.is_torch = true, .n_files = 2});
        if (activation.empty()) return;
        base::Json tower = clip_config(pair_.vision, 1);
        tower["hidden_act"] = activation;
        std::filesystem::create_directories(folder() / "LanguageBind_Image");
        write_json(folder() / "LanguageBind_Image" / "config.json", {{"vision_config", tower}});
    }

    [[nodiscard]] const MadeTensor& made(const std::string& name) const {
        for (const MadeTensor& tensor : made_) {
            if (tensor.name == name) return tensor;
        }
        ADD_FAILURE() << name;
        return made_.front();
    }

    // The towers without the two feed-forward names of other converters.
    void expect_tensor(EditedGguf& file, const std::string& stored, const std::string& name,
                       const std::vector<std::int64_t>& shape) const {
        const EditedTensor* const tensor = file.tensor(stored);
        ASSERT_NE(tensor, nullptr) << stored;
        EXPECT_EQ(tensor->shape, shape) << stored;
        EXPECT_TRUE(tensor_values(*tensor) == floats_of(made(name).data, "F32")) << stored;
    }

    Pair pair_;
    std::uint64_t width_ = 0;
    float start_ = 1000.0F;
    std::vector<MadeTensor> made_;
};

TEST_F(VideoLlava, TheAuthorsCheckpointHasAttentionOverTime) {
    write_authors("gelu");
    const auto report = convert::convert(options());
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_EQ(report->family, "Video-LLaVA");
    expect_same_tensors(pair_.text, read_gguf(text_path()));
    EditedGguf vision = read_gguf(vision_path());
    EXPECT_EQ(key_text(vision, "clip.projector_type"), "videollava");
    EXPECT_EQ(key_text(vision, "clip.video.preprocess"), "languagebind");
    EXPECT_EQ(key_text(vision, "videollava.source"), "authors");
    EXPECT_EQ(key_u32(vision, "clip.video.frame_count"), kFrames);
    EXPECT_EQ(key_u32(vision, "clip.video.block_count"), 2U);
    EXPECT_EQ(key_u32(vision, "clip.vision.block_count"), 2U);
    for (const char* flag : {"clip.use_gelu", "clip.gelu_exact", "clip.video.temporal_attention",
                             "clip.video.keep_class_token"}) {
        EXPECT_EQ(vision.key(flag).value.back(), 1) << flag;
    }
    // Pictures' tower and projector, the two tensors that differ, and eleven of time in each of two blocks.
    EXPECT_EQ(vision.tensors.size(), pair_.vision.tensors.size() + 2 + 2 * 11);
    const std::string clips = "model.video_tower.video_tower.";
    const auto width = static_cast<std::int64_t>(width_);
    expect_tensor(vision, "vv.class_embd", clips + "embeddings.class_embedding", {width});
    expect_tensor(vision, "vv.blk.0.ln1.weight", clips + "encoder.layers.0.layer_norm1.weight", {width});
    for (const std::string number : {"0", "1"}) {
        const std::string from = clips + "encoder.layers." + number + ".";
        const std::string to = "vv.blk." + number + ".";
        expect_tensor(vision, to + "t_embd", from + "temporal_embedding", {width, kFrames});
        expect_tensor(vision, to + "t_ln.weight", from + "temporal_layer_norm1.weight", {width});
        expect_tensor(vision, to + "t_ln.bias", from + "temporal_layer_norm1.bias", {width});
        for (const std::string name : {"q", "k", "v", "out"}) {
            expect_tensor(vision, to + "t_attn_" + name + ".weight",
                          from + "temporal_attn." + name + "_proj.weight", {width, width});
            expect_tensor(vision, to + "t_attn_" + name + ".bias",
                          from + "temporal_attn." + name + "_proj.bias", {width});
        }
    }
    for (const EditedTensor& tensor : pair_.vision.tensors) {
        ASSERT_NE(vision.tensor(tensor.name), nullptr) << tensor.name;
        EXPECT_TRUE(tensor_values(*vision.tensor(tensor.name)) == tensor_values(tensor)) << tensor.name;
    }
}

TEST_F(VideoLlava, WhatTheTowersComputeIsNotGuessed) {
    write_authors("");
    const auto report = convert::convert(options());
    ASSERT_FALSE(report.ok());
    EXPECT_THAT(report.status().message(), HasSubstr("--vision-tower"));
    base::Json tower = clip_config(pair_.vision, 1);
    tower["hidden_act"] = base::Json();
    std::filesystem::create_directories(folder() / "LanguageBind_Image");
    write_json(folder() / "LanguageBind_Image" / "config.json", {{"vision_config", tower}});
    const auto again = convert::convert(options());
    ASSERT_FALSE(again.ok());
    EXPECT_THAT(again.status().message(), HasSubstr("hidden_act is missing"));
}

TEST_F(VideoLlava, ThePortHasNoAttentionOverTime) {
    const base::Json config = {{"model_type", "video_llava"},
                               {"text_config", text_config(pair_.text)},
                               {"vision_config", clip_config(pair_.vision, 1)},
                               {"vision_feature_layer", -2}};
    auto tensors = text_tensors(pair_.text, "language_model.model.", "language_model.lm_head.weight");
    append(tensors, towers("image_tower.vision_model.", "video_tower.vision_model.", false));
    append(tensors,
           llava_projector(pair_.vision, "multi_modal_projector.linear_1", "multi_modal_projector.linear_2"));
    finish(pair_, tensors, config, {.n_files = 3});
    const auto report = convert::convert(options());
    ASSERT_TRUE(report.ok()) << report.status().message();
    EditedGguf vision = read_gguf(vision_path());
    EXPECT_EQ(key_text(vision, "videollava.source"), "hf");
    EXPECT_EQ(key_text(vision, "clip.video.preprocess"), "clip");
    EXPECT_EQ(vision.key("clip.video.temporal_attention").value.back(), 0);
    EXPECT_EQ(vision.key("clip.use_gelu").value.back(), 0);
    EXPECT_EQ(vision.tensors.size(), pair_.vision.tensors.size() + 2);
}

TEST_F(VideoLlava, TablesOfTimeOfAnotherShapeAreRefused) {
    write_authors("gelu");
    made_ = towers("model.image_tower.image_tower.", "model.video_tower.video_tower.", true);
    auto tensors = text_tensors(pair_.text, "model.", "lm_head.weight");
    for (MadeTensor& tensor : made_) {
        if (tensor.name.ends_with("layers.1.temporal_embedding")) tensor.shape = {1, width_, kFrames};
    }
    append(tensors, made_);
    append(tensors, llava_projector(pair_.vision, "model.mm_projector.0", "model.mm_projector.2"));
    write_weights(folder(), tensors, {.is_torch = true, .n_files = 2});
    const auto report = convert::convert(options());
    ASSERT_FALSE(report.ok());
    EXPECT_THAT(report.status().message(), HasSubstr("temporal_embedding has the shape"));
}

}  // namespace
}  // namespace clasp
