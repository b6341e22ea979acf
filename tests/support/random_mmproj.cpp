#include "support/random_mmproj.h"

#include <cmath>
#include <sstream>
#include <utility>

#include "support/random_siglip.h"
#include "support/random_tensors.h"

namespace clasp::test {

namespace {

class Builder {
   public:
    explicit Builder(const MmprojSpec& spec)
        : spec_(spec),
          tensors_{.matrix_type = spec.matrix_type,
                   .outlier_channels = spec.outlier_channels,
                   .next_seed = spec.seed * 1000003} {}

    void keys() {
        writer_.string("general.architecture", "clip");
        writer_.string("general.type", "mmproj");
        writer_.flag("clip.has_vision_encoder", true);
        writer_.string("clip.projector_type", spec_.internvl ? "internvl"
                                              : spec_.video  ? "videollava"
                                                             : "mlp");
        writer_.flag("clip.use_gelu", spec_.use_gelu);
        const auto u32 = [&](const char* key, std::size_t value) {
            writer_.u32(key, static_cast<std::uint32_t>(value));
        };
        u32("clip.vision.image_size", spec_.image_size);
        u32("clip.vision.patch_size", spec_.patch_size);
        u32("clip.vision.embedding_length", spec_.width);
        u32("clip.vision.feed_forward_length", spec_.ffn_width);
        u32("clip.vision.block_count", spec_.n_blocks);
        u32("clip.vision.projection_dim", 768);
        u32("clip.vision.attention.head_count", spec_.n_heads);
        writer_.f32("clip.vision.attention.layer_norm_epsilon", spec_.internvl ? 1e-6F : 1e-5F);
        if (spec_.internvl) {
            writer_.f32_array("clip.vision.image_mean", {0.485F, 0.456F, 0.406F});
            writer_.f32_array("clip.vision.image_std", {0.229F, 0.224F, 0.225F});
            u32("clip.vision.projector.scale_factor", spec_.internvl->merge);
            const auto tiles = [&](const char* key, std::int32_t count) {
                if (count != 0) writer_.u32(key, static_cast<std::uint32_t>(count));
            };
            tiles("clip.vision.preproc_min_tiles", spec_.internvl->min_tiles);
            tiles("clip.vision.preproc_max_tiles", spec_.internvl->max_tiles);
        } else {
            writer_.f32_array("clip.vision.image_mean", {0.48145466F, 0.4578275F, 0.40821073F});
            writer_.f32_array("clip.vision.image_std", {0.26862954F, 0.26130258F, 0.27577711F});
        }
        if (!spec_.pinpoints.empty()) {
            writer_.string("clip.vision.image_aspect_ratio", "anyres");
            writer_.i32_array("clip.vision.image_grid_pinpoints", spec_.pinpoints);
            if (!spec_.merge_type.empty()) {
                writer_.string("clip.vision.mm_patch_merge_type", spec_.merge_type);
            }
        }
        if (!spec_.feature_layer.empty()) writer_.i32_array("clip.vision.feature_layer", spec_.feature_layer);
        if (spec_.video) video_keys(*spec_.video);
    }

    void video_keys(const VideoParts& video) {
        writer_.flag("clip.gelu_exact", true);
        writer_.u32("clip.video.frame_count", static_cast<std::uint32_t>(video.n_frames));
        writer_.flag("clip.video.temporal_attention", video.has_time);
        writer_.flag("clip.video.keep_class_token", video.keeps_class_row);
        writer_.u32("clip.video.block_count", static_cast<std::uint32_t>(spec_.n_blocks));
        writer_.string("clip.video.preprocess", video.is_language_bind ? "languagebind" : "clip");
        writer_.string("videollava.source", video.is_port ? "hf" : "authors");
    }

    void tensors() {
        const auto width = static_cast<std::int64_t>(spec_.width);
        tower("v.");
        if (spec_.video) video_tower(*spec_.video);
        const auto hidden = static_cast<std::int64_t>(spec_.projector_width);
        const auto output = static_cast<std::int64_t>(spec_.output_width);
        if (spec_.internvl) {
            const auto merged =
                width * static_cast<std::int64_t>(spec_.internvl->merge * spec_.internvl->merge);
            tensors_.norm("mm.model.mlp.0", merged);
            tensors_.linear("mm.model.mlp.1", merged, hidden, 1.0F);
            tensors_.linear("mm.model.mlp.3", hidden, output, 1.0F);
        } else {
            tensors_.linear("mm.0", width, hidden, 1.0F);
            tensors_.linear("mm.2", hidden, output, 1.0F);
        }
        if (!spec_.pinpoints.empty() && !spec_.newline_name.empty()) {
            tensors_.values(spec_.newline_name, {output}, 0.0F, 0.5F);
        }
    }

    void tower(const std::string& prefix) {
        const auto width = static_cast<std::int64_t>(spec_.width);
        const auto patch = static_cast<std::int64_t>(spec_.patch_size);
        const std::size_t side = spec_.image_size / spec_.patch_size;
        tensors_.kernel(prefix + "patch_embd.weight", {patch, patch, 3, width});
        if (spec_.internvl) tensors_.values(prefix + "patch_embd.bias", {width}, 0.0F, 0.05F);
        tensors_.values(prefix + "class_embd", {width}, 0.0F, 0.5F);
        tensors_.values(prefix + "position_embd.weight", {width, static_cast<std::int64_t>(side * side) + 1},
                        0.0F, 0.5F);
        if (!spec_.internvl) tensors_.norm(prefix + "pre_ln", width);
        for (std::size_t i = 0; i < spec_.n_blocks; ++i) block(prefix + "blk." + std::to_string(i) + ".");
    }

    void video_tower(const VideoParts& video) {
        const auto width = static_cast<std::int64_t>(spec_.width);
        if (video.has_own_tower) {
            tower("vv.");
        } else {
            tensors_.values("vv.class_embd", {width}, 0.0F, 0.5F);
        }
        for (std::size_t i = 0; i < spec_.n_blocks && video.has_time; ++i) {
            const std::string prefix = "vv.blk." + std::to_string(i) + ".t_";
            // Large enough that a frame that gets another's row shows.
            tensors_.values(prefix + "embd", {width, static_cast<std::int64_t>(video.n_frames)}, 0.0F, 0.3F);
            tensors_.norm(prefix + "ln", width);
            for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_out"}) {
                tensors_.linear(prefix + name, width, width, 1.0F);
            }
        }
    }

    void write(std::ostream& out) const { writer_.write(out); }

   private:
    void block(const std::string& prefix) {
        const auto width = static_cast<std::int64_t>(spec_.width);
        const auto ffn = static_cast<std::int64_t>(spec_.ffn_width);
        const float branch = 1.0F / std::sqrt(2.0F * static_cast<float>(spec_.n_blocks));
        const bool has_norm_bias = !spec_.internvl || spec_.internvl->has_norm_bias;
        const bool has_qkv_bias = !spec_.internvl || spec_.internvl->has_qkv_bias;
        tensors_.norm(prefix + "ln1", width, has_norm_bias);
        for (const char* name : {"attn_q", "attn_k", "attn_v"}) {
            tensors_.linear(prefix + name, width, width, 1.0F, has_qkv_bias);
        }
        tensors_.linear(prefix + "attn_out", width, width, branch);
        tensors_.norm(prefix + "ln2", width, has_norm_bias);
        if (spec_.internvl) {
            // Far from 1, so that a place where they are forgotten shows.
            for (const char* name : {"ls1", "ls2"}) {
                tensors_.values(prefix + name + ".weight", {width}, 0.7F, 0.2F);
            }
            const auto qk_width = static_cast<std::int64_t>(spec_.internvl->qk_norm_width);
            for (const char* name : {"attn_q_norm", "attn_k_norm"}) {
                if (qk_width != 0) tensors_.values(prefix + name + ".weight", {qk_width}, 1.0F, 0.3F);
            }
        }
        tensors_.linear(prefix + (spec_.swapped_ffn_names ? "ffn_down" : "ffn_up"), width, ffn, 1.0F);
        tensors_.linear(prefix + (spec_.swapped_ffn_names ? "ffn_up" : "ffn_down"), ffn, width, branch);
    }

    const MmprojSpec& spec_;
    RandomTensors tensors_;
    GgufWriter& writer_ = tensors_.writer;
};

}  // namespace

MmprojSpec llava_7b_mmproj() {
    MmprojSpec spec;
    spec.image_size = 336;
    spec.width = 1024;
    spec.n_heads = 16;
    spec.ffn_width = 4096;
    spec.n_blocks = 23;
    spec.projector_width = 4096;
    spec.output_width = 4096;
    return spec;
}

MmprojSpec internvl_mmproj(const InternvlParts& parts) {
    MmprojSpec spec;
    spec.swapped_ffn_names = false;
    spec.use_gelu = true;
    spec.internvl = parts;
    return spec;
}

MmprojSpec videollava_mmproj(const VideoParts& parts) {
    MmprojSpec spec;
    spec.swapped_ffn_names = false;
    spec.use_gelu = true;
    spec.video = parts;
    return spec;
}

MmprojSpec videollava_7b_mmproj(const VideoParts& parts) {
    MmprojSpec spec = llava_7b_mmproj();
    spec.image_size = 224;
    spec.swapped_ffn_names = false;
    spec.use_gelu = true;
    spec.video = parts;
    return spec;
}

MmprojSpec tiled(MmprojSpec spec) {
    const auto side = static_cast<std::int32_t>(spec.image_size);
    for (const auto& [columns, rows] : {std::pair{1, 2}, {2, 1}, {2, 2}, {3, 1}, {1, 3}}) {
        spec.pinpoints.push_back(columns * side);
        spec.pinpoints.push_back(rows * side);
    }
    return spec;
}

void write_random_mmproj(const MmprojSpec& spec, std::ostream& out) {
    if (spec.projector_type != "mlp") return write_siglip_mmproj(spec, out);
    Builder builder(spec);
    builder.keys();
    builder.tensors();
    builder.write(out);
}

std::string random_mmproj(const MmprojSpec& spec) {
    std::ostringstream out;
    write_random_mmproj(spec, out);
    return out.str();
}

std::vector<float> random_pixels(std::size_t image_size, std::uint64_t seed) {
    VisionRandom random(seed);
    std::vector<float> pixels;
    pixels.reserve(3 * image_size * image_size);
    for (std::size_t channel = 0; channel < 3; ++channel) {
        const float phase = random.next(3.0F);
        const float slope_x = random.next(0.2F);
        const float slope_y = random.next(0.2F);
        for (std::size_t y = 0; y < image_size; ++y) {
            for (std::size_t x = 0; x < image_size; ++x) {
                const float wave =
                    std::sin(phase + slope_x * static_cast<float>(x) + slope_y * static_cast<float>(y));
                pixels.push_back(wave + random.next(0.3F));
            }
        }
    }
    return pixels;
}

}  // namespace clasp::test
