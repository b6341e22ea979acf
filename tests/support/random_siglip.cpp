#include "support/random_siglip.h"

#include <cmath>
#include <string>

#include "support/random_tensors.h"

namespace clasp::test {

namespace {

bool is_mlp(const MmprojSpec& spec) {
    return spec.projector_type == "janus_pro" || spec.projector_type == "phi4";
}

void write_keys(const MmprojSpec& spec, GgufWriter& writer) {
    const auto u32 = [&](const char* key, std::size_t value) {
        writer.u32(key, static_cast<std::uint32_t>(value));
    };
    writer.string("general.architecture", "clip");
    writer.flag("clip.has_vision_encoder", true);
    writer.string("clip.projector_type", spec.projector_type);
    writer.flag("clip.use_gelu", spec.use_gelu);
    u32("clip.vision.image_size", spec.image_size);
    u32("clip.vision.patch_size", spec.patch_size);
    u32("clip.vision.embedding_length", spec.width);
    u32("clip.vision.feed_forward_length", spec.ffn_width);
    u32("clip.vision.block_count", spec.n_blocks);
    u32("clip.vision.projection_dim", spec.output_width);
    u32("clip.vision.attention.head_count", spec.n_heads);
    writer.f32("clip.vision.attention.layer_norm_epsilon", 1e-6F);
    writer.f32_array("clip.vision.image_mean", {0.5F, 0.5F, 0.5F});
    writer.f32_array("clip.vision.image_std", {0.5F, 0.5F, 0.5F});
    if (spec.merge != 0) u32("clip.vision.projector.scale_factor", spec.merge);
    if (spec.projector_type == "phi4") {
        u32("clip.vision.image_min_pixels", spec.image_size * spec.image_size / 4);
        u32("clip.vision.image_max_pixels", spec.image_size * spec.image_size);
    }
    if (spec.longest_side != 0) u32("clip.vision.preproc_image_size", spec.longest_side);
}

void add_block(const MmprojSpec& spec, const std::string& prefix, RandomTensors& tensors) {
    const auto width = static_cast<std::int64_t>(spec.width);
    const auto ffn = static_cast<std::int64_t>(spec.ffn_width);
    const float branch = 1.0F / std::sqrt(2.0F * static_cast<float>(spec.n_blocks));
    tensors.norm(prefix + "ln1", width);
    for (const char* name : {"attn_q", "attn_k", "attn_v"}) tensors.linear(prefix + name, width, width, 1.0F);
    tensors.linear(prefix + "attn_out", width, width, branch);
    tensors.norm(prefix + "ln2", width);
    const bool is_swapped = spec.swapped_ffn_names;
    tensors.linear(prefix + (is_swapped ? "ffn_down" : "ffn_up"), width, ffn, 1.0F);
    tensors.linear(prefix + (is_swapped ? "ffn_up" : "ffn_down"), ffn, width, branch);
}

void add_projector(const MmprojSpec& spec, RandomTensors& tensors) {
    const auto width = static_cast<std::int64_t>(spec.width);
    const auto output = static_cast<std::int64_t>(spec.output_width);
    if (spec.projector_type == "gemma3") {
        tensors.values("mm.soft_emb_norm.weight", {width}, 1.0F, 0.1F);
        // Outputs and inputs the other way round, and never quantised.
        const ggml_type type = spec.matrix_type == GGML_TYPE_F32 ? GGML_TYPE_F32 : GGML_TYPE_F16;
        tensors.matrix("mm.input_projection.weight", {output, width}, type,
                       1.0F / std::sqrt(static_cast<float>(width)));
        return;
    }
    if (spec.projector_type == "step3vl") {  // two convolutions of stride 2, and a matrix
        tensors.kernel("mm.0.weight", {3, 3, width, 2 * width});
        tensors.values("mm.0.bias", {2 * width}, 0.0F, 0.05F);
        tensors.kernel("mm.1.weight", {3, 3, 2 * width, 4 * width});
        tensors.values("mm.1.bias", {4 * width}, 0.0F, 0.05F);
        tensors.matrix("mm.model.fc.weight", {4 * width, output}, spec.matrix_type,
                       1.0F / std::sqrt(4.0F * static_cast<float>(width)));
        return;
    }
    if (is_mlp(spec)) {
        const auto hidden = static_cast<std::int64_t>(spec.projector_width);
        tensors.linear("mm.0", width, hidden, 1.0F);
        tensors.linear(spec.projector_type == "phi4" ? "mm.2" : "mm.1", hidden, output, 1.0F);
        return;
    }
    const auto merged = width * static_cast<std::int64_t>(spec.merge * spec.merge);
    tensors.matrix("mm.model.fc.weight", {merged, output}, spec.matrix_type,
                   1.0F / std::sqrt(static_cast<float>(merged)));
}

// ConvNeXt in four stages, a block in each; libmtmd counts no blocks there.
void add_convnext(const MmprojSpec& spec, RandomTensors& tensors) {
    const auto width = static_cast<std::int64_t>(spec.width);
    const auto patch = static_cast<std::int64_t>(spec.patch_size);
    const auto per_channel = [&](const std::string& name, std::int64_t n, float mean) {
        tensors.values(name + ".weight", {n}, mean, 0.1F);
        tensors.values(name + ".bias", {n}, 0.0F, 0.1F);
    };
    tensors.kernel("v.patch_embd.weight", {patch, patch, 3, width});
    tensors.values("v.patch_embd.bias", {width}, 0.0F, 0.05F);
    per_channel("v.patch_ln", width, 1.0F);
    for (int stage = 0; stage < 4; ++stage) {
        const std::string prefix = "v.stage." + std::to_string(stage) + ".";
        if (stage > 0) {
            per_channel(prefix + "down.ln", width, 1.0F);
            tensors.kernel(prefix + "down.conv.weight", {2, 2, width, width});
            tensors.values(prefix + "down.conv.bias", {width}, 0.0F, 0.05F);
        }
        const std::string block = prefix + "blk.0.";
        tensors.kernel(block + "dw.weight", {7, 7, 1, width});
        tensors.values(block + "dw.bias", {width}, 0.0F, 0.05F);
        per_channel(block + "ln", width, 1.0F);
        tensors.linear(block + "pw1", width, 4 * width, 1.0F);
        per_channel(block + "grn", 4 * width, 0.0F);
        tensors.linear(block + "pw2", 4 * width, width, 0.5F);
    }
    tensors.linear("mm.0", width, static_cast<std::int64_t>(spec.projector_width), 1.0F);
    tensors.linear("mm.2", static_cast<std::int64_t>(spec.projector_width),
                   static_cast<std::int64_t>(spec.output_width), 1.0F);
}

}  // namespace

MmprojSpec smolvlm_mmproj() {
    MmprojSpec spec;
    spec.projector_type = "idefics3";
    spec.image_size = 32;
    spec.patch_size = 8;
    spec.use_gelu = true;
    spec.longest_side = 64;
    return spec;
}

MmprojSpec gemma3_mmproj() {
    MmprojSpec spec = smolvlm_mmproj();
    spec.projector_type = "gemma3";
    spec.image_size = 64;
    spec.longest_side = 0;
    return spec;
}

void write_siglip_mmproj(const MmprojSpec& spec, std::ostream& out) {
    RandomTensors tensors = {.matrix_type = spec.matrix_type, .next_seed = spec.seed * 1000003};
    write_keys(spec, tensors.writer);
    if (spec.projector_type == "yasa2") {
        add_convnext(spec, tensors);
        tensors.writer.write(out);
        return;
    }
    const auto width = static_cast<std::int64_t>(spec.width);
    const auto patch = static_cast<std::int64_t>(spec.patch_size);
    const auto side = static_cast<std::int64_t>(spec.image_size / spec.patch_size);
    tensors.kernel("v.patch_embd.weight", {patch, patch, 3, width});
    tensors.values("v.patch_embd.bias", {width}, 0.0F, 0.05F);
    tensors.values("v.position_embd.weight", {width, side * side}, 0.0F, 0.5F);
    for (std::size_t i = 0; i < spec.n_blocks; ++i) {
        add_block(spec, "v.blk." + std::to_string(i) + ".", tensors);
    }
    tensors.norm("v.post_ln", width);
    add_projector(spec, tensors);
    tensors.writer.write(out);
}

}  // namespace clasp::test
