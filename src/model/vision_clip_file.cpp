#include "model/vision_clip_file.h"

#include <algorithm>
#include <map>

#include "model/gguf_metadata.h"
#include "model/tile_rule_file.h"

namespace clasp::model {

namespace {

constexpr std::int64_t kMaxImageSize = 4096;
constexpr std::int64_t kMaxVisionWidth = 1 << 15;
constexpr std::int64_t kMaxBlocks = 512;

std::int64_t signed_size(std::size_t n) {
    return static_cast<std::int64_t>(n);
}

Result<Activation> read_activation(const GgufReader& reader) {
    CLASP_ASSIGN_OR_RETURN(const bool gelu, value_or(read_flag(reader, "clip.use_gelu"), false));
    CLASP_ASSIGN_OR_RETURN(const bool silu, value_or(read_flag(reader, "clip.use_silu"), false));
    if (gelu && silu) return Status(Code::Corrupt, "clip.use_gelu and clip.use_silu are both set");
    if (gelu) return Activation::Gelu;
    return silu ? Activation::Silu : Activation::QuickGelu;
}

Result<std::array<float, 3>> read_channels(const GgufReader& reader, std::string_view key, float min,
                                           float max) {
    CLASP_ASSIGN_OR_RETURN(const std::vector<float> values, read_floats(reader, key, 3, min, max));
    return std::array<float, 3>{values[0], values[1], values[2]};
}

// Sets both feature layers. The key counts hidden states: 0 is the input of block 0.
Status read_feature_layer(const GgufReader& reader, VisionInfo& info) {
    const std::string key = "clip.vision.feature_layer";
    info.feature_layer = info.n_blocks - 1;
    info.llama_cpp_feature_layer = info.n_blocks >= 2 ? info.n_blocks - 2 : 0;
    if (reader.find(key) == nullptr) return ok_status();
    CLASP_ASSIGN_OR_RETURN(const auto layers, read_integers(reader, key, 64, 0, signed_size(info.n_blocks)));
    if (layers.size() != 1) {
        return {Code::Unsupported,
                key + " lists " + std::to_string(layers.size()) +
                    " layers; towers that feed exactly one to the projector are supported"};
    }
    if (layers[0] == 0) return {Code::Unsupported, key + " is 0, the input of the first block"};
    info.feature_layer = static_cast<std::size_t>(layers[0] - 1);
    info.llama_cpp_feature_layer = info.feature_layer;
    return ok_status();
}

}  // namespace

Result<VisionInfo> read_vit_info(const GgufReader& reader) {
    const auto size = [&](const char* key, std::int64_t max) -> Result<std::size_t> {
        CLASP_ASSIGN_OR_RETURN(const std::int64_t value, read_integer(reader, key, 1, max));
        return static_cast<std::size_t>(value);
    };
    VisionInfo info;
    CLASP_ASSIGN_OR_RETURN(info.image_size, size("clip.vision.image_size", kMaxImageSize));
    CLASP_ASSIGN_OR_RETURN(info.patch_size, size("clip.vision.patch_size", signed_size(info.image_size)));
    CLASP_ASSIGN_OR_RETURN(info.width, size("clip.vision.embedding_length", kMaxVisionWidth));
    CLASP_ASSIGN_OR_RETURN(info.ffn_width, size("clip.vision.feed_forward_length", 8 * kMaxVisionWidth));
    CLASP_ASSIGN_OR_RETURN(info.n_blocks, size("clip.vision.block_count", kMaxBlocks));
    CLASP_ASSIGN_OR_RETURN(info.n_heads, size("clip.vision.attention.head_count", signed_size(info.width)));
    CLASP_ASSIGN_OR_RETURN(info.norm_epsilon,
                           read_float(reader, "clip.vision.attention.layer_norm_epsilon", 0.0F, 1.0F));
    CLASP_ASSIGN_OR_RETURN(info.mean, read_channels(reader, "clip.vision.image_mean", -10.0F, 10.0F));
    CLASP_ASSIGN_OR_RETURN(info.std, read_channels(reader, "clip.vision.image_std", 1e-4F, 1e4F));
    CLASP_ASSIGN_OR_RETURN(info.activation, read_activation(reader));
    if (info.width % info.n_heads != 0) {
        return Status(Code::Corrupt, "the tower's width " + std::to_string(info.width) +
                                         " is no multiple of its " + std::to_string(info.n_heads) + " heads");
    }
    const std::size_t side = info.image_size / info.patch_size;
    info.grid = {.height = side, .width = side};
    if (side * side > kMaxVisionTokens) {
        return Status(Code::Corrupt, "the tower makes " + std::to_string(side * side) +
                                         " tokens; the limit is " + std::to_string(kMaxVisionTokens));
    }
    return info;
}

Result<VisionInfo> read_clip_info(const GgufReader& reader) {
    CLASP_ASSIGN_OR_RETURN(VisionInfo info, read_vit_info(reader));
    info.family = "clip-vit";
    info.profile = "llava";
    info.projector_type = "mlp";
    info.capabilities = {.has_class_token = true, .merge = 1, .merges_inside = true};
    CLASP_RETURN_IF_ERROR(read_feature_layer(reader, info));
    CLASP_ASSIGN_OR_RETURN(info.tiles,
                           read_tile_rule(reader, info.image_size, info.grid.width, kMaxVisionTokens));
    info.differences = {
        "the class token comes first and all patches are projected; llama.cpp loses the first",
        "the projector's GELU is the exact one",
        "pictures are turned upright and padded with the mean colour, then resized"};
    info.exactness = kExactAsLlamaCpp;
    if (info.tiles) {
        info.differences.back() =
            "pictures of every size are cut into tiles, the overview first, with line breaks and without "
            "padding as the file says";
        info.note = missing_newline_note(reader);
        // LLaVA-1.6 34B, whose decoder, Yi, is of the architecture llama and speaks ChatML.
        info.words.mistral_template = "llama2";
        info.words.yi_template = "chatml";
        info.words.chatml_system = "Answer the questions.";
        info.words.joins_turns = true;
        info.words.turns_of = "llama";
    }
    return info;
}

FfnNames ffn_names(const GgufReader& reader, const std::string& prefix, std::size_t width) {
    const GgufTensor* down = reader.find_tensor(prefix + "ffn_down.weight");
    const bool is_swapped = down != nullptr && down->shape[0] == signed_size(width);
    if (is_swapped) return {prefix + "ffn_down", prefix + "ffn_up"};
    return {prefix + "ffn_up", prefix + "ffn_down"};
}

void count_weights(const GgufReader& reader, const std::vector<WeightSpec>& specs, VisionInfo& info) {
    std::map<ggml_type, std::size_t> counts;
    info.n_parameters = 0;
    for (const WeightSpec& spec : specs) {
        for (const std::string& part : spec.parts) {
            const GgufTensor& tensor = *reader.find_tensor(part);
            if (spec.use == WeightSpec::Use::Matrix) ++counts[tensor.type];
            if (spec.type) continue;  // a second copy
            std::size_t count = 1;
            for (const std::int64_t n : tensor.shape) count *= static_cast<std::size_t>(n);
            info.n_parameters += count;
        }
    }
    const auto most = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    info.weight_type = most == counts.end() ? "" : ggml_type_name(most->first);
}

}  // namespace clasp::model
