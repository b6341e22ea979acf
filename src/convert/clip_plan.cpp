#include "convert/clip_plan.h"

#include <array>
#include <filesystem>

#include "base/text.h"

namespace clasp::convert {
namespace {

constexpr std::uint64_t kMaxClipWidth = 1U << 15U;
constexpr std::uint64_t kMaxClipBlocks = 512;
constexpr std::uint64_t kMaxClipSide = 4096;

struct ClipRow {
    const char* name;
    const char* stored;
    std::vector<std::uint64_t> shape;
};

Status plan_clip_block(const std::string& from, const std::string& to, const ClipShape& shape,
                       TensorPool& pool, OutputFile& file) {
    const std::array<ClipRow, 16> rows = {{
        {"layer_norm1.weight", "ln1.weight", {shape.width}},
        {"layer_norm1.bias", "ln1.bias", {shape.width}},
        {"layer_norm2.weight", "ln2.weight", {shape.width}},
        {"layer_norm2.bias", "ln2.bias", {shape.width}},
        {"self_attn.q_proj.weight", "attn_q.weight", {shape.width, shape.width}},
        {"self_attn.q_proj.bias", "attn_q.bias", {shape.width}},
        {"self_attn.k_proj.weight", "attn_k.weight", {shape.width, shape.width}},
        {"self_attn.k_proj.bias", "attn_k.bias", {shape.width}},
        {"self_attn.v_proj.weight", "attn_v.weight", {shape.width, shape.width}},
        {"self_attn.v_proj.bias", "attn_v.bias", {shape.width}},
        {"self_attn.out_proj.weight", "attn_out.weight", {shape.width, shape.width}},
        {"self_attn.out_proj.bias", "attn_out.bias", {shape.width}},
        {"mlp.fc1.weight", "ffn_up.weight", {shape.ffn_width, shape.width}},
        {"mlp.fc1.bias", "ffn_up.bias", {shape.ffn_width}},
        {"mlp.fc2.weight", "ffn_down.weight", {shape.width, shape.ffn_width}},
        {"mlp.fc2.bias", "ffn_down.bias", {shape.width}},
    }};
    for (const ClipRow& row : rows) {
        CLASP_ASSIGN_OR_RETURN(const StoredTensor* const tensor, pool.take(from + row.name, row.shape));
        add_tensor(file, to + row.stored, row.shape.size() == 1 ? TensorUse::Values : TensorUse::Matrix,
                   *tensor);
    }
    return ok_status();
}

}  // namespace

Result<ClipShape> read_clip_shape(const ModelConfig& config, std::int64_t feature_layer,
                                  const std::optional<std::string>& activation) {
    ClipShape shape;
    CLASP_ASSIGN_OR_RETURN(shape.width, config.count("hidden_size", kMaxClipWidth));
    CLASP_ASSIGN_OR_RETURN(shape.ffn_width, config.count("intermediate_size", 8 * kMaxClipWidth));
    CLASP_ASSIGN_OR_RETURN(shape.n_blocks, config.count("num_hidden_layers", kMaxClipBlocks));
    CLASP_ASSIGN_OR_RETURN(shape.n_heads, config.count("num_attention_heads", shape.width));
    CLASP_ASSIGN_OR_RETURN(shape.image_size, config.count("image_size", kMaxClipSide));
    CLASP_ASSIGN_OR_RETURN(shape.patch_size, config.count("patch_size", shape.image_size));
    CLASP_ASSIGN_OR_RETURN(shape.norm_epsilon, config.number("layer_norm_eps", 1e-5));
    CLASP_ASSIGN_OR_RETURN(const std::string name, config.text("hidden_act", activation));
    if (name != "gelu" && name != "quick_gelu") {
        return config.unsupported("hidden_act", "a vision tower's must be gelu or quick_gelu");
    }
    shape.is_gelu = name == "gelu";
    const auto n_states = static_cast<std::int64_t>(shape.n_blocks) + 1;
    const std::int64_t state = feature_layer < 0 ? n_states + feature_layer : feature_layer;
    if (state < 1 || state >= n_states) {
        return Status(Code::Unsupported, "the features are those of hidden state " +
                                             std::to_string(feature_layer) + " of a tower of " +
                                             std::to_string(shape.n_blocks) +
                                             " blocks, which is the output of none of them");
    }
    shape.n_kept = static_cast<std::uint64_t>(state);
    return shape;
}

void set_vit_keys(const VitShape& shape, std::uint64_t projection, GgufKeys& keys) {
    keys.set_u32("clip.vision.image_size", shape.image_size);
    keys.set_u32("clip.vision.patch_size", shape.patch_size);
    keys.set_u32("clip.vision.embedding_length", shape.width);
    keys.set_u32("clip.vision.feed_forward_length", shape.ffn_width);
    keys.set_u32("clip.vision.block_count", shape.n_kept);
    keys.set_u32("clip.vision.projection_dim", projection);
    keys.set_u32("clip.vision.attention.head_count", shape.n_heads);
    keys.set_f32("clip.vision.attention.layer_norm_epsilon", shape.norm_epsilon);
}

void set_clip_keys(const ClipShape& shape, std::uint64_t projection, GgufKeys& keys) {
    set_vit_keys(shape, projection, keys);
    keys.set_flag("clip.use_gelu", shape.is_gelu);
}

Status plan_clip_tower(const std::string& prefix, const std::string& to, const ClipShape& shape,
                       TensorPool& pool, OutputFile& file) {
    CLASP_ASSIGN_OR_RETURN(const StoredTensor* const class_row,
                           pool.take(prefix + "embeddings.class_embedding", {shape.width}));
    add_tensor(file, to + "class_embd", TensorUse::Values, *class_row);
    CLASP_ASSIGN_OR_RETURN(const StoredTensor* const kernel,
                           pool.take(prefix + "embeddings.patch_embedding.weight",
                                     {shape.width, 3, shape.patch_size, shape.patch_size}));
    add_tensor(file, to + "patch_embd.weight", TensorUse::Kernel, *kernel);
    CLASP_ASSIGN_OR_RETURN(
        const StoredTensor* const positions,
        pool.take(prefix + "embeddings.position_embedding.weight", {shape.n_positions(), shape.width}));
    add_tensor(file, to + "position_embd.weight", TensorUse::Values, *positions);
    for (const char* part : {"weight", "bias"}) {
        // Spelt as in the checkpoints.
        CLASP_ASSIGN_OR_RETURN(const StoredTensor* const norm,
                               pool.take(prefix + "pre_layrnorm." + part, {shape.width}));
        add_tensor(file, to + "pre_ln." + part, TensorUse::Values, *norm);
    }
    for (std::uint64_t i = 0; i < shape.n_kept; ++i) {
        CLASP_RETURN_IF_ERROR(plan_clip_block(prefix + "encoder.layers." + std::to_string(i) + ".",
                                              to + "blk." + std::to_string(i) + ".", shape, pool, file));
    }
    for (std::uint64_t i = shape.n_kept; i < shape.n_blocks; ++i) {
        pool.leave_out_prefix(prefix + "encoder.layers." + std::to_string(i) + ".");
    }
    pool.leave_out_prefix(prefix + "post_layernorm.");
    pool.leave_out(prefix + "embeddings.position_ids");
    return ok_status();
}

Status plan_llava_projector(const std::string& first, const std::string& second, const ClipShape& shape,
                            std::uint64_t text_width, TensorPool& pool, OutputFile& file) {
    CLASP_ASSIGN_OR_RETURN(const StoredTensor* const weight1, pool.take(first + ".weight"));
    const std::uint64_t hidden = weight1->shape.front();
    CLASP_RETURN_IF_ERROR(pool.take(first + ".weight", {hidden, shape.width}).status());
    CLASP_ASSIGN_OR_RETURN(const StoredTensor* const bias1, pool.take(first + ".bias", {hidden}));
    CLASP_ASSIGN_OR_RETURN(const StoredTensor* const weight2,
                           pool.take(second + ".weight", {text_width, hidden}));
    CLASP_ASSIGN_OR_RETURN(const StoredTensor* const bias2, pool.take(second + ".bias", {text_width}));
    add_tensor(file, "mm.0.weight", TensorUse::Matrix, *weight1);
    add_tensor(file, "mm.0.bias", TensorUse::Values, *bias1);
    add_tensor(file, "mm.2.weight", TensorUse::Matrix, *weight2);
    add_tensor(file, "mm.2.bias", TensorUse::Values, *bias2);
    return ok_status();
}

Result<TowerFolder> find_tower_folder(const FamilyInput& input, const std::string& tower_name) {
    namespace fs = std::filesystem;
    TowerFolder found;
    std::vector<std::string> candidates;
    if (!input.vision_tower.empty()) {
        candidates.push_back(input.vision_tower);
    } else if (const std::string last = tower_name.substr(tower_name.rfind('/') + 1);
               !last.empty() && last != "." && last != "..") {
        candidates.push_back((fs::path(input.folder) / last).string());
        candidates.push_back((fs::path(input.folder) / ".." / last).string());
    }
    for (const std::string& folder : candidates) {
        CLASP_ASSIGN_OR_RETURN(const auto json, read_json_file(folder, "config.json"));
        if (!json) continue;
        found.folder = folder;
        const ModelConfig whole((fs::path(folder) / "config.json").string(), *json);
        found.config = whole.is_object("vision_config") ? whole.part("vision_config") : whole;
        return found;
    }
    if (input.vision_tower.empty()) return found;
    return Status(Code::NotFound,
                  "--vision-tower " + base::path_in_quotes(input.vision_tower) + " has no config.json");
}

}  // namespace clasp::convert
