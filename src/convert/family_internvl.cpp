// InternVL 2, 2.5 and 3 as their authors publish them: InternViT, a pixel shuffle, two matrices, and the
// decoder that llm_config describes.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "convert/clip_plan.h"
#include "convert/family.h"

namespace clasp::convert {
namespace {

using base::Json;

constexpr std::uint64_t kMaxInternWidth = 1U << 15U;
constexpr std::uint64_t kMaxInternBlocks = 512;
constexpr std::uint64_t kMaxInternSide = 4096;
constexpr std::uint64_t kMaxInternTiles = 1024;

struct InternShape : VitShape {
    std::uint64_t merge = 0;  // patches per side of a token
    bool has_norm_bias = true;
    bool has_qkv_bias = true;
    bool has_qk_norm = false;
};

Status read_merge(const ModelConfig& config, InternShape& shape) {
    CLASP_ASSIGN_OR_RETURN(const double ratio, config.number("downsample_ratio", 0.5));
    const double merge = ratio > 0.0 ? 1.0 / ratio : 0.0;
    const std::uint64_t side = shape.image_size / shape.patch_size;
    if (!(merge >= 1.0 && merge <= 64.0) || std::trunc(merge) != merge ||
        side % static_cast<std::uint64_t>(merge) != 0) {
        return config.wrong("downsample_ratio",
                            "does not divide the " + std::to_string(side) + " patches of a side");
    }
    shape.merge = static_cast<std::uint64_t>(merge);
    CLASP_ASSIGN_OR_RETURN(const std::string version, config.text("ps_version", "v1"));
    if (version != "v2") return config.unsupported("ps_version", "the pixel shuffle v2 can be converted");
    return ok_status();
}

Result<InternShape> read_intern_shape(const ModelConfig& config) {
    const ModelConfig tower = config.part("vision_config");
    InternShape shape;
    CLASP_ASSIGN_OR_RETURN(shape.width, tower.count("hidden_size", kMaxInternWidth));
    CLASP_ASSIGN_OR_RETURN(shape.ffn_width, tower.count("intermediate_size", 8 * kMaxInternWidth));
    CLASP_ASSIGN_OR_RETURN(shape.n_blocks, tower.count("num_hidden_layers", kMaxInternBlocks));
    CLASP_ASSIGN_OR_RETURN(shape.n_heads, tower.count("num_attention_heads", shape.width));
    CLASP_ASSIGN_OR_RETURN(const std::uint64_t own_size, tower.count("image_size", kMaxInternSide));
    CLASP_ASSIGN_OR_RETURN(shape.image_size, config.count("force_image_size", kMaxInternSide, own_size));
    if (shape.image_size != own_size) {
        return config.unsupported("force_image_size", "the tower's positions are for " +
                                                          std::to_string(own_size) + " pixels a side");
    }
    CLASP_ASSIGN_OR_RETURN(shape.patch_size, tower.count("patch_size", shape.image_size));
    CLASP_ASSIGN_OR_RETURN(shape.norm_epsilon, tower.number("layer_norm_eps", 1e-6));
    CLASP_ASSIGN_OR_RETURN(const std::string norm, tower.text("norm_type"));
    if (norm != "layer_norm" && norm != "rms_norm") {
        return tower.unsupported("norm_type", "layer_norm and rms_norm can be converted");
    }
    shape.has_norm_bias = norm == "layer_norm";
    CLASP_ASSIGN_OR_RETURN(shape.has_qkv_bias, tower.flag("qkv_bias", true));
    CLASP_ASSIGN_OR_RETURN(shape.has_qk_norm, tower.flag("qk_normalization", false));
    CLASP_ASSIGN_OR_RETURN(const std::string activation, tower.text("hidden_act"));
    if (activation != "gelu") return tower.unsupported("hidden_act", "gelu can be converted");
    CLASP_ASSIGN_OR_RETURN(const std::int64_t layer, config.integer("select_layer", -1));
    const std::int64_t kept = static_cast<std::int64_t>(shape.n_blocks) + 1 + layer;
    if (layer >= 0 || kept < 1) {
        return config.unsupported("select_layer", "it must count from the end, and leave a block");
    }
    shape.n_kept = static_cast<std::uint64_t>(kept);
    CLASP_RETURN_IF_ERROR(read_merge(config, shape));
    return shape;
}

Status set_tile_keys(const ModelConfig& config, GgufKeys& keys) {
    CLASP_ASSIGN_OR_RETURN(const bool pads, config.flag("pad2square", false));
    if (pads) return config.unsupported("pad2square", "pictures that are stretched can be converted");
    CLASP_ASSIGN_OR_RETURN(const bool is_dynamic, config.flag("dynamic_image_size", true));
    CLASP_ASSIGN_OR_RETURN(std::uint64_t min, config.count("min_dynamic_patch", kMaxInternTiles, 1));
    CLASP_ASSIGN_OR_RETURN(std::uint64_t max, config.count("max_dynamic_patch", kMaxInternTiles, 12));
    if (!is_dynamic) min = max = 1;
    if (min > max) return config.wrong("min_dynamic_patch", "is above max_dynamic_patch");
    CLASP_ASSIGN_OR_RETURN(const bool has_thumbnail, config.flag("use_thumbnail", max > 1));
    if (max > 1 && !has_thumbnail) {
        return config.unsupported("use_thumbnail",
                                  "pictures in tiles without a thumbnail cannot be converted");
    }
    keys.set_u32("clip.vision.preproc_min_tiles", min);
    keys.set_u32("clip.vision.preproc_max_tiles", max);
    return ok_status();
}

void set_intern_keys(const InternShape& shape, std::uint64_t projection, GgufKeys& keys) {
    set_vit_keys(shape, projection, keys);
    keys.set_u32("clip.vision.projector.scale_factor", shape.merge);
    keys.set_flag("clip.use_gelu", true);
}

struct InternRow {
    const char* name;
    const char* stored;
    TensorUse use;
    std::vector<std::uint64_t> shape;
    bool is_there = true;
};

Status plan_rows(const std::string& from, const std::string& to, std::span<const InternRow> rows,
                 TensorPool& pool, OutputFile& file) {
    for (const InternRow& row : rows) {
        if (!row.is_there) continue;
        CLASP_ASSIGN_OR_RETURN(const StoredTensor* const tensor, pool.take(from + row.name, row.shape));
        add_tensor(file, to + row.stored, row.use, *tensor);
    }
    return ok_status();
}

// One matrix of the checkpoint holds queries, keys and values one below the other.
Status plan_qkv(const std::string& from, const std::string& to, const InternShape& shape, TensorPool& pool,
                OutputFile& file) {
    constexpr std::array<const char*, 3> kParts = {"attn_q", "attn_k", "attn_v"};
    CLASP_ASSIGN_OR_RETURN(const StoredTensor* const weight,
                           pool.take(from + "attn.qkv.weight", {3 * shape.width, shape.width}));
    for (std::size_t i = 0; i < kParts.size(); ++i) {
        add_rows(file, to + kParts[i] + ".weight", TensorUse::Matrix, *weight, i * shape.width, shape.width);
    }
    if (!shape.has_qkv_bias) return ok_status();
    CLASP_ASSIGN_OR_RETURN(const StoredTensor* const bias,
                           pool.take(from + "attn.qkv.bias", {3 * shape.width}));
    for (std::size_t i = 0; i < kParts.size(); ++i) {
        add_rows(file, to + kParts[i] + ".bias", TensorUse::Values, *bias, i * shape.width, shape.width);
    }
    return ok_status();
}

Status plan_intern_block(const std::string& from, const std::string& to, const InternShape& shape,
                         TensorPool& pool, OutputFile& file) {
    const std::uint64_t d = shape.width;
    const std::uint64_t ffn = shape.ffn_width;
    constexpr TensorUse kValues = TensorUse::Values;
    constexpr TensorUse kMatrix = TensorUse::Matrix;
    const std::vector<InternRow> rows = {
        {"norm1.weight", "ln1.weight", kValues, {d}},
        {"norm1.bias", "ln1.bias", kValues, {d}, shape.has_norm_bias},
        {"norm2.weight", "ln2.weight", kValues, {d}},
        {"norm2.bias", "ln2.bias", kValues, {d}, shape.has_norm_bias},
        {"ls1", "ls1.weight", kValues, {d}},
        {"ls2", "ls2.weight", kValues, {d}},
        {"attn.q_norm.weight", "attn_q_norm.weight", kValues, {d}, shape.has_qk_norm},
        {"attn.k_norm.weight", "attn_k_norm.weight", kValues, {d}, shape.has_qk_norm},
        {"attn.proj.weight", "attn_out.weight", kMatrix, {d, d}},
        {"attn.proj.bias", "attn_out.bias", kValues, {d}},
        {"mlp.fc1.weight", "ffn_up.weight", kMatrix, {ffn, d}},
        {"mlp.fc1.bias", "ffn_up.bias", kValues, {ffn}},
        {"mlp.fc2.weight", "ffn_down.weight", kMatrix, {d, ffn}},
        {"mlp.fc2.bias", "ffn_down.bias", kValues, {d}},
    };
    CLASP_RETURN_IF_ERROR(plan_rows(from, to, rows, pool, file));
    return plan_qkv(from, to, shape, pool, file);
}

Status plan_intern_tower(const InternShape& shape, std::uint64_t text_width, TensorPool& pool,
                         OutputFile& file) {
    const std::uint64_t merged = shape.width * shape.merge * shape.merge;
    const std::uint64_t patch = shape.patch_size;
    constexpr TensorUse kValues = TensorUse::Values;
    constexpr TensorUse kMatrix = TensorUse::Matrix;
    const std::vector<InternRow> rows = {
        {"vision_model.embeddings.class_embedding", "v.class_embd", kValues, {shape.width}},
        {"vision_model.embeddings.patch_embedding.weight",
         "v.patch_embd.weight",
         TensorUse::Kernel,
         {shape.width, 3, patch, patch}},
        {"vision_model.embeddings.patch_embedding.bias", "v.patch_embd.bias", kValues, {shape.width}},
        {"vision_model.embeddings.position_embedding",
         "v.position_embd.weight",
         kValues,
         {shape.n_positions(), shape.width}},
        {"mlp1.0.weight", "mm.model.mlp.0.weight", kValues, {merged}},
        {"mlp1.0.bias", "mm.model.mlp.0.bias", kValues, {merged}},
        {"mlp1.1.weight", "mm.model.mlp.1.weight", kMatrix, {text_width, merged}},
        {"mlp1.1.bias", "mm.model.mlp.1.bias", kValues, {text_width}},
        {"mlp1.3.weight", "mm.model.mlp.3.weight", kMatrix, {text_width, text_width}},
        {"mlp1.3.bias", "mm.model.mlp.3.bias", kValues, {text_width}},
    };
    CLASP_RETURN_IF_ERROR(plan_rows("", "", rows, pool, file));
    for (std::uint64_t i = 0; i < shape.n_blocks; ++i) {
        const std::string from = "vision_model.encoder.layers." + std::to_string(i) + ".";
        if (i >= shape.n_kept) {
            pool.leave_out_prefix(from);
            continue;
        }
        CLASP_RETURN_IF_ERROR(plan_intern_block(from, "v.blk." + std::to_string(i) + ".", shape, pool, file));
    }
    return ok_status();
}

// Two generations differ in their system text and in a line break, which the engine knows by the file's name.
std::string internvl_name(const ModelConfig& config, const std::string& folder_name) {
    const std::string form = config.json()["template"].get<std::string>().value_or("");
    const bool is_2 = form != "internvl2_5" && form.find("internvl3") == std::string::npos;
    const std::string basename = is_2 ? "InternVL2" : "InternVL2_5";
    const std::string name = base::lower(folder_name);
    const bool says_25 = name.find("internvl2_5") != std::string::npos ||
                         name.find("internvl2.5") != std::string::npos ||
                         name.find("internvl2-5") != std::string::npos;
    const bool says_2 = !says_25 && name.find("internvl2") != std::string::npos;
    const bool says_3 = name.find("internvl3") != std::string::npos;
    return (is_2 ? says_2 : says_25 || says_3) ? folder_name : basename;
}

}  // namespace

bool is_internvl(const ModelConfig& config) {
    return config.json()["model_type"] == Json("internvl_chat") && config.is_object("llm_config");
}

Status plan_internvl(const FamilyInput& input, ConversionPlan& plan) {
    const ModelConfig& config = input.config;
    CLASP_ASSIGN_OR_RETURN(const InternShape shape, read_intern_shape(config));
    TextPart text;
    text.source.config = config.part("llm_config");
    text.class_name = text.source.config.architecture();
    text.keeps_template = true;
    const bool is_internlm2 = text.class_name == "InternLM2ForCausalLM";
    text.source.body = "language_model.model.";
    text.source.head = is_internlm2 ? "language_model.output.weight" : "language_model.lm_head.weight";
    FamilyInput named = input;
    named.name = internvl_name(config, input.name);
    CLASP_RETURN_IF_ERROR(plan_text(named, text, plan));
    const auto table =
        std::find_if(plan.text.tensors.begin(), plan.text.tensors.end(),
                     [](const auto& tensor) { return tensor.place.name == "token_embd.weight"; });
    const std::uint64_t text_width = table->place.shape.front();
    GgufKeys& keys = plan.vision.keys;
    set_vision_start(named, "internvl", keys);
    set_intern_keys(shape, text_width, keys);
    CLASP_RETURN_IF_ERROR(set_tile_keys(config, keys));
    CLASP_RETURN_IF_ERROR(set_colours(input, imagenet_colours(), keys));
    return plan_intern_tower(shape, text_width, *input.pool, plan.vision);
}

}  // namespace clasp::convert
