#include "support/family_models.h"

#include <array>
#include <cstdio>
#include <cstdlib>

#include "support/qwen_pair.h"
#include "support/random_siglip.h"
#include "support/siglip_words.h"

namespace clasp::test {

namespace {

constexpr std::size_t kFamilyWidth = 96;
constexpr PixelSize kTiledPicture = {120, 90};
constexpr PixelSize kQwenPicture = {168, 140};

FamilyModel llava_15() {
    return {.name = "Llava15",
            .title = "LLaVA-1.5",
            .text = llava_family_text(),
            .vision = random_mmproj(clip_family_vision()),
            .picture = kTiledPicture,
            .n_tokens = 64};
}

// 112 x 84 of 112 x 112 pixels: 8 x 8 patches of tiles, of which a row above and below is padding.
FamilyModel llava_next() {
    return {.name = "LlavaNext",
            .title = "LLaVA-NeXT",
            .text = llava_family_text(),
            .vision = random_mmproj(next_family_vision()),
            .picture = kTiledPicture,
            .n_tokens = 16 + 6 * 8,
            .n_fixed = 6};
}

FamilyModel qwen(QwenKind kind, const std::string& name, const std::string& title, std::size_t n_tokens) {
    const RandomLlama text = qwen_text(kind);
    return {.name = name,
            .title = title,
            .text = text,
            .vision = random_qwen_mmproj(qwen_vision(kind, text)),
            .picture = kQwenPicture,
            .n_tokens = n_tokens};
}

FamilyModel qwen2_vl() {
    return qwen(QwenKind::Qwen2, "Qwen2Vl", "Qwen2-VL", 30);
}
FamilyModel qwen25_vl() {
    return qwen(QwenKind::Qwen25, "Qwen25Vl", "Qwen2.5-VL", 30);
}
// Its tokens are larger, and at least 64.
FamilyModel qwen3_vl() {
    return qwen(QwenKind::Qwen3, "Qwen3Vl", "Qwen3-VL", 72);
}

// Four tiles by three, and the thumbnail.
FamilyModel internvl() {
    return {.name = "InternVl",
            .title = "InternVL",
            .text = internvl_family_text(),
            .vision = random_mmproj(internvl_family_vision()),
            .picture = kTiledPicture,
            .n_tokens = 13 * 4};
}

FamilyModel smolvlm() {
    return {.name = "SmolVlm",
            .title = "SmolVLM",
            .text = smolvlm_family_text(),
            .vision = random_mmproj(smolvlm_family_vision(kFamilyWidth)),
            .picture = kTiledPicture,
            .n_tokens = 13 * 4};
}

FamilyModel gemma3() {
    return {.name = "Gemma3",
            .title = "Gemma 3",
            .text = gemma3_family_text(),
            .vision = random_mmproj(gemma3_family_vision(kFamilyWidth)),
            .picture = kTiledPicture,
            .n_tokens = 64};
}

FamilyModel video_llava() {
    return {.name = "VideoLlava",
            .title = "Video-LLaVA",
            .text = llava_family_text(),
            .vision = random_mmproj(videollava_family_vision()),
            .picture = kTiledPicture,
            .n_tokens = 64,
            .is_in_llama_cpp = false};
}

FamilyModel through_libmtmd() {
    return {.name = "Libmtmd",
            .title = "libmtmd",
            .text = smolvlm_family_text(),
            .vision = random_mmproj(mtmd_family_vision("janus_pro")),
            .picture = kTiledPicture,
            .n_tokens = 64,
            .needs_libmtmd = true};
}

struct FamilyEntry {
    const char* name;
    FamilyModel (*make)();
};

constexpr std::array kFamilies = {
    FamilyEntry{"Llava15", llava_15},       FamilyEntry{"LlavaNext", llava_next},
    FamilyEntry{"Qwen2Vl", qwen2_vl},       FamilyEntry{"Qwen25Vl", qwen25_vl},
    FamilyEntry{"Qwen3Vl", qwen3_vl},       FamilyEntry{"InternVl", internvl},
    FamilyEntry{"SmolVlm", smolvlm},        FamilyEntry{"Gemma3", gemma3},
    FamilyEntry{"VideoLlava", video_llava}, FamilyEntry{"Libmtmd", through_libmtmd}};

RandomLlama with_siglip_words(RandomLlama spec, ggml_type type) {
    const RandomLlama words = siglip_words();
    if (type != GGML_TYPE_F32) spec = widened(spec, type);
    spec.control_tokens = words.control_tokens;
    spec.word_tokens = words.word_tokens;
    spec.adds_space = false;
    return spec;
}

RandomLlama family_text(const std::string& architecture, std::uint64_t seed) {
    RandomLlama spec = random_architecture(architecture);
    spec.n_layers = 8;
    spec.width = kFamilyWidth;
    spec.seed = seed;
    return spec;
}

}  // namespace

std::vector<std::string> family_names() {
    std::vector<std::string> names;
    for (const FamilyEntry& entry : kFamilies) names.emplace_back(entry.name);
    return names;
}

FamilyModel family_model(const std::string& name) {
    for (const FamilyEntry& entry : kFamilies) {
        if (entry.name == name) return entry.make();
    }
    std::fprintf(stderr, "there is no family %s\n", name.c_str());
    std::abort();
}

MmprojSpec clip_family_vision() {
    MmprojSpec spec;
    spec.image_size = 112;
    spec.n_blocks = 23;
    spec.output_width = kFamilyWidth;
    return spec;
}

MmprojSpec next_family_vision(const std::string& merge_type) {
    MmprojSpec spec;
    spec.n_blocks = 23;
    spec.output_width = kFamilyWidth;
    spec.merge_type = merge_type;
    return tiled(spec);
}

MmprojSpec internvl_family_vision() {
    MmprojSpec spec = internvl_mmproj();
    spec.n_blocks = 24;
    spec.output_width = kFamilyWidth;
    return spec;
}

MmprojSpec videollava_family_vision(const VideoParts& parts) {
    MmprojSpec spec = videollava_mmproj(parts);
    spec.image_size = 112;
    spec.n_blocks = 23;
    spec.output_width = kFamilyWidth;
    return spec;
}

MmprojSpec smolvlm_family_vision(std::size_t output_width) {
    MmprojSpec spec = smolvlm_mmproj();
    spec.n_blocks = 6;
    spec.output_width = output_width;
    spec.matrix_type = GGML_TYPE_F32;
    spec.longest_side = 128;
    return spec;
}

MmprojSpec gemma3_family_vision(std::size_t output_width) {
    MmprojSpec spec = gemma3_mmproj();
    spec.n_blocks = 6;
    spec.output_width = output_width;
    spec.matrix_type = GGML_TYPE_F32;
    spec.image_size = 128;
    return spec;
}

MmprojSpec mtmd_family_vision(const std::string& projector_type) {
    MmprojSpec spec = smolvlm_mmproj();
    spec.projector_type = projector_type;
    spec.image_size = 64;
    spec.merge = spec.longest_side = 0;
    spec.swapped_ffn_names = false;
    spec.n_blocks = 3;
    if (projector_type == "step3vl") {  // larger pictures are cut into tiles of 504 pixels
        spec.patch_size = 14;
        spec.image_size = 168;
        spec.merge = 4;
    }
    if (projector_type == "yasa2") {  // always 64 tokens
        spec.patch_size = 4;
        spec.image_size = 512;
        spec.width = 16;
        spec.n_blocks = 0;
    }
    return spec;
}

RandomLlama llava_family_text() {
    RandomLlama spec;
    spec.n_layers = 8;
    spec.width = kFamilyWidth;
    spec.n_heads = spec.n_kv_heads = 3;
    return spec;
}

RandomLlama internvl_family_text() {
    RandomLlama spec = llava_family_text();
    spec.architecture = "qwen2";
    spec.has_qkv_biases = true;
    spec.control_tokens = {"<|im_start|>", "<|im_end|>", "<img>", "</img>"};
    return spec;
}

constexpr std::uint64_t kSeedOfLongAnswers = 5;

RandomLlama smolvlm_family_text(ggml_type type) {
    RandomLlama spec = family_text("llama", kSeedOfLongAnswers);
    spec.n_heads = spec.n_kv_heads = 3;
    return with_siglip_words(spec, type);
}

RandomLlama gemma3_family_text(ggml_type type) {
    return with_siglip_words(family_text("gemma3", kSeedOfLongAnswers), type);
}

}  // namespace clasp::test
