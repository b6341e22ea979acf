#include "support/random_mmproj.h"

#include <cmath>
#include <functional>
#include <sstream>
#include <utility>

#include "support/gguf_writer.h"

namespace clasp::test {

namespace {

// xorshift64*: fast enough for hundreds of millions of weights, the same on every machine.
class VisionRandom {
   public:
    explicit VisionRandom(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 0x1234567ULL) {}

    // Uniform with the given standard deviation.
    float next(float deviation) {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        const auto bits = static_cast<std::uint32_t>((state_ * 0x2545F4914F6CDD1DULL) >> 40);
        constexpr float kScale = 1.0F / 16777216.0F;
        constexpr float kWidth = 3.4641016F;  // sqrt(12)
        return (static_cast<float>(bits) * kScale - 0.5F) * kWidth * deviation;
    }

   private:
    std::uint64_t state_;
};

std::string encode(const std::vector<float>& values, ggml_type type, std::int64_t row) {
    const auto rows = static_cast<std::int64_t>(values.size()) / row;
    std::string bytes(ggml_row_size(type, row) * static_cast<std::size_t>(rows), '\0');
    if (type == GGML_TYPE_F32) {
        std::memcpy(bytes.data(), values.data(), bytes.size());
    } else {
        ggml_quantize_chunk(type, values.data(), bytes.data(), 0, rows, row, nullptr);
    }
    return bytes;
}

class Builder {
   public:
    explicit Builder(const MmprojSpec& spec) : spec_(spec) {}

    void keys() {
        writer_.string("general.architecture", "clip");
        writer_.string("general.type", "mmproj");
        writer_.flag("clip.has_vision_encoder", true);
        writer_.string("clip.projector_type", "mlp");
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
        writer_.f32("clip.vision.attention.layer_norm_epsilon", 1e-5F);
        writer_.f32_array("clip.vision.image_mean", {0.48145466F, 0.4578275F, 0.40821073F});
        writer_.f32_array("clip.vision.image_std", {0.26862954F, 0.26130258F, 0.27577711F});
        if (!spec_.pinpoints.empty()) {
            writer_.string("clip.vision.image_aspect_ratio", "anyres");
            writer_.i32_array("clip.vision.image_grid_pinpoints", spec_.pinpoints);
            if (!spec_.merge_type.empty()) {
                writer_.string("clip.vision.mm_patch_merge_type", spec_.merge_type);
            }
        }
        if (!spec_.feature_layer.empty()) writer_.i32_array("clip.vision.feature_layer", spec_.feature_layer);
    }

    void tensors() {
        const auto width = static_cast<std::int64_t>(spec_.width);
        const auto patch = static_cast<std::int64_t>(spec_.patch_size);
        const std::size_t side = spec_.image_size / spec_.patch_size;
        kernel({patch, patch, 3, width});
        values("v.class_embd", {width}, 0.0F, 0.5F);
        values("v.position_embd.weight", {width, static_cast<std::int64_t>(side * side) + 1}, 0.0F, 0.5F);
        norm("v.pre_ln", width);
        for (std::size_t i = 0; i < spec_.n_blocks; ++i) block("v.blk." + std::to_string(i) + ".");
        const auto hidden = static_cast<std::int64_t>(spec_.projector_width);
        const auto output = static_cast<std::int64_t>(spec_.output_width);
        linear("mm.0", width, hidden, 1.0F);
        linear("mm.2", hidden, output, 1.0F);
        if (!spec_.pinpoints.empty() && !spec_.newline_name.empty()) {
            values(spec_.newline_name, {output}, 0.0F, 0.5F);
        }
    }

    void write(std::ostream& out) const { writer_.write(out); }

   private:
    void block(const std::string& prefix) {
        const auto width = static_cast<std::int64_t>(spec_.width);
        const auto ffn = static_cast<std::int64_t>(spec_.ffn_width);
        const float branch = 1.0F / std::sqrt(2.0F * static_cast<float>(spec_.n_blocks));
        norm(prefix + "ln1", width);
        for (const char* name : {"attn_q", "attn_k", "attn_v"}) linear(prefix + name, width, width, 1.0F);
        linear(prefix + "attn_out", width, width, branch);
        norm(prefix + "ln2", width);
        linear(prefix + (spec_.swapped_ffn_names ? "ffn_down" : "ffn_up"), width, ffn, 1.0F);
        linear(prefix + (spec_.swapped_ffn_names ? "ffn_up" : "ffn_down"), ffn, width, branch);
    }

    void linear(const std::string& name, std::int64_t inputs, std::int64_t outputs, float gain) {
        add(name + ".weight", {inputs, outputs}, spec_.matrix_type, 0.0F,
            gain / std::sqrt(static_cast<float>(inputs)), inputs);
        values(name + ".bias", {outputs}, 0.0F, 0.05F);
    }

    // The patch kernel has rows that quantised types cannot hold; converters keep it in F16.
    void kernel(const std::vector<std::int64_t>& shape) {
        const ggml_type type = spec_.matrix_type == GGML_TYPE_F32 ? GGML_TYPE_F32 : GGML_TYPE_F16;
        const auto inputs = static_cast<float>(shape[0] * shape[1] * shape[2]);
        add("v.patch_embd.weight", shape, type, 0.0F, 1.0F / std::sqrt(inputs), shape[0]);
    }

    void norm(const std::string& name, std::int64_t width) {
        const std::size_t n_outliers = spec_.outlier_channels;
        const float deviation = 0.1F;
        const std::uint64_t seed = ++next_seed_;
        const std::size_t bytes = static_cast<std::size_t>(width) * sizeof(float);
        writer_.tensor(name + ".weight", {width}, GGML_TYPE_F32, bytes, [=] {
            VisionRandom random(seed);
            std::vector<float> data(static_cast<std::size_t>(width));
            for (float& value : data) value = 1.0F + random.next(deviation);
            for (std::size_t i = 0; i < n_outliers; ++i) data[(i * 37 + 11) % data.size()] *= 25.0F;
            return encode(data, GGML_TYPE_F32, width);
        });
        values(name + ".bias", {width}, 0.0F, deviation);
    }

    void values(const std::string& name, const std::vector<std::int64_t>& shape, float mean,
                float deviation) {
        add(name, shape, GGML_TYPE_F32, mean, deviation, shape[0]);
    }

    void add(const std::string& name, const std::vector<std::int64_t>& shape, ggml_type type, float mean,
             float deviation, std::int64_t row) {
        std::size_t count = 1;
        for (const std::int64_t n : shape) count *= static_cast<std::size_t>(n);
        const std::size_t bytes = ggml_row_size(type, row) * (count / static_cast<std::size_t>(row));
        const std::uint64_t seed = ++next_seed_;
        writer_.tensor(name, shape, static_cast<std::uint32_t>(type), bytes, [=] {
            VisionRandom random(seed);
            std::vector<float> data(count);
            for (float& value : data) value = mean + random.next(deviation);
            return encode(data, type, row);
        });
    }

    const MmprojSpec& spec_;
    std::uint64_t next_seed_ = spec_.seed * 1000003;
    GgufWriter writer_;
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

MmprojSpec tiled(MmprojSpec spec) {
    const auto side = static_cast<std::int32_t>(spec.image_size);
    for (const auto& [columns, rows] : {std::pair{1, 2}, {2, 1}, {2, 2}, {3, 1}, {1, 3}}) {
        spec.pinpoints.push_back(columns * side);
        spec.pinpoints.push_back(rows * side);
    }
    return spec;
}

void write_random_mmproj(const MmprojSpec& spec, std::ostream& out) {
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
