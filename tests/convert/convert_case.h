// A folder for a checkpoint and the pair that it becomes, and comparisons with the files it was made of.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "convert/convert.h"
#include "made_checkpoint.h"
#include "support/family_files.h"
#include "support/paths.h"

namespace clasp::test {

class ConvertCase : public testing::Test {
   protected:
    void SetUp() override {
        root_ = std::filesystem::path(scratch_dir()) / ("convert-" + std::to_string(getpid()));
        std::filesystem::remove_all(root_);
        std::filesystem::create_directories(folder());
    }
    void TearDown() override { std::filesystem::remove_all(root_); }

    [[nodiscard]] std::filesystem::path folder() const { return root_ / "checkpoint"; }
    [[nodiscard]] std::string prefix() const { return (root_ / "out").string(); }
    [[nodiscard]] std::string text_path() const { return prefix() + ".gguf"; }
    [[nodiscard]] std::string vision_path() const { return prefix() + "-mmproj.gguf"; }

    // A text model with random weights, in float32.
    [[nodiscard]] EditedGguf made_text(const RandomLlama& spec) const {
        const std::string path = (root_ / "made.gguf").string();
        EXPECT_TRUE(write_random_llama(path, spec));
        return read_gguf(path);
    }
    [[nodiscard]] static EditedGguf made_vision(MmprojSpec spec) {
        spec.matrix_type = GGML_TYPE_F32;
        spec.swapped_ffn_names = false;
        return EditedGguf::parse(random_mmproj(spec));
    }

    // In float32 and over whatever is there.
    [[nodiscard]] convert::ConvertOptions options() const {
        convert::ConvertOptions options;
        options.folder = folder().string();
        options.prefix = prefix();
        options.type = options.mmproj_type = "f32";
        options.force = true;
        options.n_threads = 1;
        return options;
    }

    // The checkpoints of families, in the root's folder.
    struct Pair {
        EditedGguf text;
        EditedGguf vision;
    };
    void write_llava(const Pair& pair, const CheckpointForm& form, bool is_next) const {
        base::Json config = text_config(pair.text);
        config["architectures"] = base::Json::array({"LlavaLlamaForCausalLM"});
        config["model_type"] = "llava_llama";
        config["mm_vision_tower"] = "somebody/a-tower";
        config["mm_projector_type"] = "mlp2x_gelu";
        config["mm_vision_select_layer"] = -2;
        config["mm_vision_select_feature"] = "patch";
        config["image_aspect_ratio"] = is_next ? "anyres" : "pad";
        auto tensors = text_tensors(pair.text, "model.", "lm_head.weight");
        append(tensors, llava_projector(pair.vision, "model.mm_projector.0", "model.mm_projector.2"));
        const auto tower = folder() / "a-tower";
        std::filesystem::create_directories(tower);
        base::Json tower_config = clip_config(pair.vision, 1);
        write_json(tower / "config.json", {{"model_type", "clip"}, {"vision_config", tower_config}});
        if (is_next) {
            append(tensors, clip_tensors(pair.vision, "model.vision_tower.vision_tower.vision_model.", 1));
            tensors.push_back(renamed(pair.vision, "model.image_newline", "model.image_newline"));
            config["mm_patch_merge_type"] = "spatial_unpad";
            config["image_grid_pinpoints"] = pinpoints_of(pair.vision);
        } else {
            write_weights(tower, clip_tensors(pair.vision, "vision_model.", 1), {});
        }
        finish(pair, tensors, config, form);
    }
    void write_llava_port(const Pair& pair, const CheckpointForm& form, bool is_next, bool is_new) const {
        const std::string root = is_new ? "model." : "";
        base::Json config = {
            {"model_type", is_next ? "llava_next" : "llava"}, {"text_config", text_config(pair.text)},
            {"vision_config", clip_config(pair.vision, 1)},   {"vision_feature_layer", -2},
            {"vision_feature_select_strategy", "default"},    {"projector_hidden_act", "gelu"}};
        auto tensors = text_tensors(pair.text, is_new ? "model.language_model." : "language_model.model.",
                                    is_new ? "lm_head.weight" : "language_model.lm_head.weight");
        append(tensors, clip_tensors(pair.vision, root + "vision_tower.vision_model.", 1));
        append(tensors, llava_projector(pair.vision, root + "multi_modal_projector.linear_1",
                                        root + "multi_modal_projector.linear_2"));
        if (is_next) {
            tensors.push_back(renamed(pair.vision, "model.image_newline", root + "image_newline"));
            config["image_grid_pinpoints"] = pinpoints_of(pair.vision);
        }
        finish(pair, tensors, config, form);
    }
    void write_internvl(const Pair& pair, const CheckpointForm& form) const {
        base::Json config = internvl_config(pair.vision);
        config["llm_config"] = text_config(pair.text);
        const bool is_internlm2 = key_text(pair.text, "general.architecture") == "internlm2";
        auto tensors =
            text_tensors(pair.text, "language_model.model.",
                         is_internlm2 ? "language_model.output.weight" : "language_model.lm_head.weight");
        append(tensors, internvl_tensors(pair.vision));
        finish(pair, tensors, config, form);
    }

    static void append(std::vector<MadeTensor>& to, const std::vector<MadeTensor>& more) {
        to.insert(to.end(), more.begin(), more.end());
    }
    static base::Json pinpoints_of(const EditedGguf& vision) {
        const auto sides = key_array<std::int32_t>(vision, "clip.vision.image_grid_pinpoints");
        base::Json list = base::Json::array();
        for (std::size_t i = 0; i < sides.size(); i += 2)
            list.push_back(base::Json::array({sides[i], sides[i + 1]}));
        return list;
    }
    void finish(const Pair& pair, const std::vector<MadeTensor>& tensors, const base::Json& config,
                const CheckpointForm& form) const {
        write_weights(folder(), tensors, form);
        write_json(folder() / "config.json", config);
        constexpr std::size_t kOwnTokens = 3 + 256 + 26;
        write_tokenizer(folder(), pair.text, kOwnTokens);
    }

    // Every tensor of `made` is in `converted` with the same shape and the same numbers, and nothing else is.
    static void expect_same_tensors(const EditedGguf& made, const EditedGguf& converted,
                                    const std::string& dtype = "F32") {
        std::map<std::string, const EditedTensor*> found;
        for (const EditedTensor& tensor : converted.tensors) found[tensor.name] = &tensor;
        EXPECT_EQ(found.size(), made.tensors.size());
        for (const EditedTensor& tensor : made.tensors) {
            const auto it = found.find(tensor.name);
            ASSERT_NE(it, found.end()) << tensor.name;
            EXPECT_EQ(it->second->shape, tensor.shape) << tensor.name;
            EXPECT_TRUE(tensor_values(*it->second) == in_dtype(tensor, dtype)) << tensor.name;
        }
    }
    // Factors of rotations come from the config, not from the weights.
    static std::vector<float> in_dtype(const EditedTensor& tensor, const std::string& dtype) {
        const std::vector<float> values = tensor_values(tensor);
        if (dtype == "F32" || tensor.name.starts_with("rope_")) return values;
        const std::string bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
        return floats_of(as_dtype(bytes, dtype), dtype);
    }
    // The engine's logits over both pairs, which must be equal to the bit.
    void expect_same_answers(Pair pair, PixelSize size) const {
        // The name decides on InternVL's system text.
        pair.vision.key("general.name").set_text(key_text(read_gguf(vision_path()), "general.name"));
        const std::string text = (root_ / "made.gguf").string();
        const std::string vision = (root_ / "made-mmproj.gguf").string();
        std::ofstream(text, std::ios::binary) << pair.text.bytes();
        std::ofstream(vision, std::ios::binary) << pair.vision.bytes();
        const std::string pixels = picture(3, size);  // requests borrow it
        const auto answer = [&](const std::string& model, const std::string& mmproj) {
            EngineOptions options;
            options.model = model;
            options.mmproj = mmproj;
            options.n_threads = 1;
            auto engine = Engine::load(options);
            EXPECT_TRUE(engine.ok()) << engine.status().message();
            if (!engine.ok()) return Answer();
            AskRequest request = question_about(pixels);
            request.question = "abc";
            return answer_of(**engine, request);
        };
        const Answer wanted = answer(text, vision);
        const Answer got = answer(text_path(), vision_path());
        EXPECT_FALSE(wanted.logits.empty());
        EXPECT_TRUE(got.logits == wanted.logits);
        EXPECT_EQ(got.text, wanted.text);
    }

    std::filesystem::path root_;
};

}  // namespace clasp::test
