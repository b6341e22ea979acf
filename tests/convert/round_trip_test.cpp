// A pair of GGUF files made into a checkpoint and converted back has the same tensors, and the engine's
// logits are the same to the bit.
#include "convert_case.h"

namespace clasp {
namespace {

using namespace test;

class Convert : public ConvertCase {
   protected:
    convert::ConvertReport converted(const convert::ConvertOptions& options) {
        auto report = convert::convert(options);
        EXPECT_TRUE(report.ok()) << report.status().message();
        return report.ok() ? *report : convert::ConvertReport();
    }

    [[nodiscard]] Pair llava_pair() const {
        RandomLlama text = llava_family_text();
        text.n_kv_heads = 1;
        return {made_text(text), made_vision(clip_family_vision())};
    }
    [[nodiscard]] Pair next_pair() const {
        return {made_text(llava_family_text()), made_vision(next_family_vision())};
    }
    [[nodiscard]] Pair internvl_pair(const std::string& architecture, MmprojSpec vision) const {
        RandomLlama text = random_architecture(architecture);
        text.width = 96;
        text.n_heads = 6;
        text.n_kv_heads = architecture == "phi3" ? 6 : 2;
        text.control_tokens = {"<|im_start|>", "<|im_end|>", "<img>", "</img>", "<IMG_CONTEXT>"};
        if (text.n_rotated != 0) text.n_rotated = 12;
        vision.projector_width = vision.output_width = 96;
        return {made_text(text), made_vision(std::move(vision))};
    }

    void expect_same(const Pair& pair, PixelSize size, const std::string& dtype = "F32") {
        const EditedGguf text = read_gguf(text_path());
        const EditedGguf vision = read_gguf(vision_path());
        expect_same_tensors(pair.text, text, dtype);
        expect_same_tensors(pair.vision, vision, dtype);
        EXPECT_EQ(key_texts(text, "tokenizer.ggml.tokens"), key_texts(pair.text, "tokenizer.ggml.tokens"));
        EXPECT_EQ(key_array<std::int32_t>(text, "tokenizer.ggml.token_type"),
                  key_array<std::int32_t>(pair.text, "tokenizer.ggml.token_type"));
        if (dtype == "F32") expect_same_answers(pair, size);
    }
};

constexpr PixelSize kWide = {120, 90};

TEST_F(Convert, Llava15OfItsAuthorsHasItsTowerBeside) {
    const Pair pair = llava_pair();
    write_llava(pair, {}, false);
    const auto report = converted(options());
    EXPECT_EQ(report.family, "LLaVA");
    EXPECT_EQ(report.text.architecture, "llama");
    EXPECT_EQ(report.inputs.size(), 1U);
    expect_same(pair, kWide);
}

TEST_F(Convert, TheTowersFolderCanBeNamed) {
    const Pair pair = llava_pair();
    write_llava(pair, {}, false);
    std::filesystem::rename(folder() / "a-tower", root_ / "elsewhere");
    EXPECT_FALSE(convert::convert(options()).ok());
    auto wanted = options();
    wanted.vision_tower = (root_ / "elsewhere").string();
    converted(wanted);
    expect_same_tensors(pair.vision, read_gguf(vision_path()));
    wanted.vision_tower = (root_ / "nowhere").string();
    const auto report = convert::convert(wanted);
    ASSERT_FALSE(report.ok());
    EXPECT_THAT(report.status().message(), testing::HasSubstr("has no config.json"));
}

TEST_F(Convert, LlavaNextOfItsAuthorsHasItsTowerInside) {
    const Pair pair = next_pair();
    write_llava(pair, {.n_files = 3}, true);
    converted(options());
    EXPECT_EQ(key_array<std::int32_t>(read_gguf(vision_path()), "clip.vision.image_grid_pinpoints"),
              key_array<std::int32_t>(pair.vision, "clip.vision.image_grid_pinpoints"));
    expect_same(pair, kWide);
}

TEST_F(Convert, LlavaInPyTorchFiles) {
    const Pair pair = llava_pair();
    write_llava(pair, {.is_torch = true}, false);
    converted(options());
    expect_same(pair, kWide);
}

TEST_F(Convert, LlavaInSeveralPyTorchFilesWithLongFields) {
    const Pair pair = next_pair();
    write_llava(pair, {.is_torch = true, .n_files = 2, .is_64 = true}, true);
    const auto report = converted(options());
    EXPECT_EQ(report.inputs.size(), 2U);
    EXPECT_EQ(report.inputs[0].sha256.size(), 64U);  // checked, because zip files have checksums
    expect_same(pair, kWide);
}

TEST_F(Convert, LlavaOfHuggingFaceInItsOldNames) {
    const Pair pair = llava_pair();
    write_llava_port(pair, {}, false, false);
    EXPECT_EQ(converted(options()).family, "LLaVA (Hugging Face)");
    expect_same(pair, kWide);
}

TEST_F(Convert, LlavaNextOfHuggingFaceInItsNewNames) {
    const Pair pair = next_pair();
    write_llava_port(pair, {.n_files = 2}, true, true);
    converted(options());
    expect_same(pair, kWide);
}

TEST_F(Convert, AMissingNewlineIsNoted) {
    Pair pair = next_pair();
    write_llava(pair, {}, true);
    auto tensors = text_tensors(pair.text, "model.", "lm_head.weight");
    append(tensors, llava_projector(pair.vision, "model.mm_projector.0", "model.mm_projector.2"));
    append(tensors, clip_tensors(pair.vision, "model.vision_tower.vision_tower.vision_model.", 1));
    write_weights(folder(), tensors, {});
    EXPECT_THAT(converted(options()).notes, testing::Contains(testing::HasSubstr("model.image_newline")));
}

TEST_F(Convert, AListOfSizesThatIsNotSymmetricIsTurnedForThePort) {
    Pair pair = next_pair();
    const std::vector<std::int32_t> sides = {56, 112, 56, 56};
    pair.vision.key("clip.vision.image_grid_pinpoints").set_numbers(sides);
    write_llava_port(pair, {}, true, false);
    converted(options());
    EXPECT_THAT(key_array<std::int32_t>(read_gguf(vision_path()), "clip.vision.image_grid_pinpoints"),
                testing::ElementsAre(112, 56, 56, 56));
}

TEST_F(Convert, InternVlOnInternLm2) {
    const Pair pair = internvl_pair("internlm2", internvl_family_vision());
    write_internvl(pair, {});
    const auto report = converted(options());
    EXPECT_EQ(report.text.architecture, "internlm2");
    // The end of a turn is the mark, not the end of a text.
    const auto tokens = key_texts(pair.text, "tokenizer.ggml.tokens");
    const EditedGguf text = read_gguf(text_path());
    EXPECT_EQ(tokens[key_u32(text, "tokenizer.ggml.eos_token_id")], "<|im_end|>");
    expect_same(pair, kWide);
}

TEST_F(Convert, InternVlOnQwen2) {
    const Pair pair = internvl_pair("qwen2", internvl_family_vision());
    write_internvl(pair, {.n_files = 2});
    converted(options());
    expect_same(pair, kWide);
}

TEST_F(Convert, InternVlOnPhi3) {
    Pair pair = internvl_pair("phi3", internvl_family_vision());
    write_internvl(pair, {.is_torch = true});
    converted(options());
    const EditedGguf text = read_gguf(text_path());
    EXPECT_EQ(key_u32(text, "phi3.rope.dimension_count"), 12U);
    // 2048 positions instead of 300: sqrt(1 + ln(2048 / 300) / ln 300)
    const std::string factor = "phi3.rope.scaling.attn_factor";
    EXPECT_NEAR(key_f32(text, factor), 1.1562F, 1e-4F);
    pair.text.key(factor).set(model::GgufType::F32, key_f32(text, factor));
    expect_same(pair, kWide);
}

TEST_F(Convert, InternVlOnLlama) {
    const Pair pair = internvl_pair("llama", internvl_family_vision());
    write_internvl(pair, {});
    converted(options());
    expect_same(pair, kWide);
}

// InternViT-6B: no biases of norms, queries and keys; norms of whole rows.
TEST_F(Convert, InternVlWithTheLargeTower) {
    MmprojSpec vision = internvl_family_vision();
    vision.internvl =
        InternvlParts{.has_norm_bias = false, .has_qkv_bias = false, .qk_norm_width = vision.width};
    const Pair pair = internvl_pair("internlm2", vision);
    write_internvl(pair, {.n_files = 3});
    converted(options());
    expect_same(pair, kWide);
}

TEST_F(Convert, HalfPrecisionCheckpointsKeepTheirNumbers) {
    for (const std::string dtype : {"F16", "BF16"}) {
        for (const bool is_torch : {false, true}) {
            const Pair pair = internvl_pair("internlm2", internvl_family_vision());
            write_internvl(pair, {.is_torch = is_torch, .dtype = dtype});
            converted(options());
            expect_same(pair, kWide, dtype);
            std::filesystem::remove_all(folder());
            std::filesystem::create_directories(folder());
        }
    }
}

TEST_F(Convert, TheGenerationOfInternVlIsInTheFilesNames) {
    const Pair pair = internvl_pair("qwen2", internvl_family_vision());
    write_internvl(pair, {});
    converted(options());
    EXPECT_EQ(key_text(read_gguf(vision_path()), "general.name"), "InternVL2");
    auto config = internvl_config(pair.vision);
    config["llm_config"] = text_config(pair.text);
    config["template"] = "internvl2_5";
    write_json(folder() / "config.json", config);
    converted(options());
    EXPECT_EQ(key_text(read_gguf(vision_path()), "general.name"), "InternVL2_5");
}

TEST_F(Convert, BothFormsOfWeightsGiveTheSameBytes) {
    const Pair pair = internvl_pair("internlm2", internvl_family_vision());
    std::vector<std::string> sums;
    for (const CheckpointForm& form :
         {CheckpointForm{}, CheckpointForm{.n_files = 4}, CheckpointForm{.is_torch = true},
          CheckpointForm{.is_torch = true, .n_files = 3, .is_64 = true}}) {
        std::filesystem::remove_all(folder());
        std::filesystem::create_directories(folder());
        write_internvl(pair, form);
        const auto report = converted(options());
        sums.push_back(report.text.sha256 + report.vision.sha256);
    }
    EXPECT_THAT(sums, testing::Each(sums.front()));
}

TEST_F(Convert, TheNumberOfThreadsChangesNothing) {
    const Pair pair = llava_pair();
    write_llava(pair, {}, false);
    auto wanted = options();
    wanted.type = "q4_0";
    const auto alone = converted(wanted);
    wanted.n_threads = 4;
    const auto together = converted(wanted);
    EXPECT_EQ(alone.text.sha256, together.text.sha256);
    EXPECT_EQ(alone.vision.sha256, together.vision.sha256);
}

TEST_F(Convert, Llama3RotationsBecomeFactors) {
    const Pair pair = internvl_pair("llama", internvl_family_vision());
    write_internvl(pair, {});
    auto config = internvl_config(pair.vision);
    config["llm_config"] = text_config(pair.text);
    config["llm_config"]["rope_scaling"] = {{"rope_type", "llama3"},
                                            {"factor", 8.0},
                                            {"low_freq_factor", 1.0},
                                            {"high_freq_factor", 4.0},
                                            {"original_max_position_embeddings", 256}};
    write_json(folder() / "config.json", config);
    converted(options());
    EditedGguf text = read_gguf(text_path());
    const EditedTensor* const factors = text.tensor("rope_freqs.weight");
    ASSERT_NE(factors, nullptr);
    const auto values = tensor_values(*factors);
    ASSERT_EQ(values.size(), 8U);
    // Wavelengths 2 pi 10000^(i/8): 6.3, 19.9 and 62.8 positions; below 64 nothing changes, above 256 all
    // does.
    EXPECT_EQ(values[0], 1.0F);
    EXPECT_EQ(values[2], 1.0F);
    EXPECT_GT(values[3], 1.0F);
    EXPECT_LT(values[3], 8.0F);
    EXPECT_EQ(values[4], 8.0F);
    EXPECT_EQ(values[7], 8.0F);
}

TEST_F(Convert, DynamicScalingIsLeftOutWithANote) {
    const Pair pair = internvl_pair("internlm2", internvl_family_vision());
    write_internvl(pair, {});
    auto config = internvl_config(pair.vision);
    config["llm_config"] = text_config(pair.text);
    config["llm_config"]["rope_scaling"] = {{"type", "dynamic"}, {"factor", 2.0}};
    write_json(folder() / "config.json", config);
    EXPECT_THAT(converted(options()).notes, testing::Contains(testing::HasSubstr("dynamic scaling")));
}

}  // namespace
}  // namespace clasp
