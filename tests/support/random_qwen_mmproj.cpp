#include "support/random_qwen_mmproj.h"

#include <array>
#include <cmath>
#include <sstream>

#include "support/random_tensors.h"

namespace clasp::test {

namespace {

void write_keys(const QwenMmprojSpec& spec, GgufWriter& writer) {
    const bool has_windows = spec.kind == QwenKind::Qwen25;
    const bool is_third = spec.kind == QwenKind::Qwen3;
    writer.string("general.architecture", "clip");
    writer.string("general.type", "mmproj");
    writer.flag("clip.has_vision_encoder", true);
    constexpr std::array kTypes = {"qwen2vl_merger", "qwen2.5vl_merger", "qwen3vl_merger"};
    writer.string("clip.projector_type",
                  spec.is_omni ? "qwen2.5o" : kTypes[static_cast<std::size_t>(spec.kind)]);
    if (spec.is_omni) writer.flag("clip.has_audio_encoder", true);
    if (has_windows) writer.flag("clip.use_silu", true);
    if (is_third) writer.flag("clip.use_gelu", true);
    const auto u32 = [&](const char* key, std::size_t value) {
        writer.u32(key, static_cast<std::uint32_t>(value));
    };
    u32("clip.vision.image_size", spec.image_size);
    u32("clip.vision.patch_size", spec.patch_size);
    u32("clip.vision.embedding_length", spec.width);
    // Converters of Qwen2-VL store another number here.
    u32("clip.vision.feed_forward_length", spec.kind == QwenKind::Qwen2 ? spec.output_width : spec.ffn_width);
    u32("clip.vision.block_count", spec.n_blocks);
    u32("clip.vision.projection_dim", spec.output_width);
    u32("clip.vision.attention.head_count", spec.n_heads);
    if (has_windows) u32("clip.vision.n_wa_pattern", spec.window_pattern);
    writer.f32("clip.vision.attention.layer_norm_epsilon", 1e-6F);
    if (is_third) {
        writer.f32_array("clip.vision.image_mean", {0.5F, 0.5F, 0.5F});
        writer.f32_array("clip.vision.image_std", {0.5F, 0.5F, 0.5F});
        std::vector<bool> has_merger(spec.n_blocks);
        for (const std::size_t block : spec.deepstack) has_merger[block] = true;
        writer.flag_array("clip.vision.is_deepstack_layers", has_merger);
        return;
    }
    writer.f32_array("clip.vision.image_mean", {0.48145466F, 0.4578275F, 0.40821073F});
    writer.f32_array("clip.vision.image_std", {0.26862954F, 0.26130258F, 0.27577711F});
}

void write_tensors(const QwenMmprojSpec& spec, RandomTensors& tensors) {
    const auto width = static_cast<std::int64_t>(spec.width);
    const auto patch = static_cast<std::int64_t>(spec.patch_size);
    const auto ffn = static_cast<std::int64_t>(spec.ffn_width);
    const bool has_biases = spec.kind != QwenKind::Qwen25;  // of norms
    const float branch = 1.0F / std::sqrt(2.0F * static_cast<float>(spec.n_blocks));
    tensors.kernel("v.patch_embd.weight", {patch, patch, 3, width});
    tensors.kernel("v.patch_embd.weight.1", {patch, patch, 3, width});
    for (std::size_t i = 0; i < spec.n_blocks; ++i) {
        const std::string prefix = "v.blk." + std::to_string(i) + ".";
        tensors.norm(prefix + "ln1", width, has_biases);
        // Larger than one, so that attention is far from even.
        if (spec.kind == QwenKind::Qwen3) {
            tensors.linear(prefix + "attn_qkv", width, 3 * width, 1.5F);
        } else {
            for (const char* name : {"attn_q", "attn_k"}) tensors.linear(prefix + name, width, width, 2.0F);
            tensors.linear(prefix + "attn_v", width, width, 1.0F);
        }
        tensors.linear(prefix + "attn_out", width, width, branch);
        tensors.norm(prefix + "ln2", width, has_biases);
        if (spec.kind == QwenKind::Qwen25) tensors.linear(prefix + "ffn_gate", width, ffn, 1.0F);
        tensors.linear(prefix + (spec.swapped_ffn_names ? "ffn_down" : "ffn_up"), width, ffn, 1.0F);
        tensors.linear(prefix + (spec.swapped_ffn_names ? "ffn_up" : "ffn_down"), ffn, width, branch);
    }
    tensors.norm("v.post_ln", width, has_biases);
    tensors.linear("mm.0", 4 * width, 4 * width, 1.0F);
    const auto output = static_cast<std::int64_t>(spec.output_width);
    tensors.linear("mm.2", 4 * width, output, 1.0F);
    if (spec.is_omni) tensors.linear("a.blk.0.attn_q", width, width, 1.0F);
    if (spec.kind != QwenKind::Qwen3) return;
    const auto side = static_cast<std::int64_t>(spec.image_size / spec.patch_size);
    tensors.values("v.patch_embd.bias", {width}, 0.0F, 0.2F);
    tensors.values("v.position_embd.weight", {width, side * side}, 0.0F, 0.5F);
    for (const std::size_t block : spec.deepstack) {
        const std::string prefix = "v.deepstack." + std::to_string(block) + ".";
        tensors.norm(prefix + "norm", 4 * width);
        tensors.linear(prefix + "fc1", 4 * width, 4 * width, 1.0F);
        tensors.linear(prefix + "fc2", 4 * width, output, 1.0F);
    }
}

}  // namespace

void write_random_qwen_mmproj(const QwenMmprojSpec& spec, std::ostream& out) {
    RandomTensors tensors{.matrix_type = spec.matrix_type, .next_seed = spec.seed * 1000003};
    write_keys(spec, tensors.writer);
    write_tensors(spec, tensors);
    tensors.writer.write(out);
}

std::string random_qwen_mmproj(const QwenMmprojSpec& spec) {
    std::ostringstream out;
    write_random_qwen_mmproj(spec, out);
    return out.str();
}

}  // namespace clasp::test
