#include "model/vision_qwen_file.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "model/gguf_metadata.h"
#include "model/vision_clip_file.h"

namespace clasp::model {

namespace {

constexpr std::int64_t kMaxQwenSide = 1 << 14;
constexpr std::int64_t kMaxQwenPatch = 64;
constexpr std::int64_t kMaxQwenWidth = 1 << 15;
constexpr std::int64_t kMaxQwenBlocks = 512;
constexpr std::int64_t kQwenMerge = 2;
constexpr std::int64_t kWindowPixels = 112;
constexpr std::size_t kVector = 32;
constexpr std::size_t kPaperMinTokens = 1280;  // of the evaluation suite that the paper used

std::size_t whole_vectors(std::size_t n) {
    return (n + kVector - 1) / kVector * kVector;
}

std::int64_t extent(std::size_t n) {
    return static_cast<std::int64_t>(n);
}

Status read_shape(const GgufReader& reader, QwenFile& file) {
    const auto size = [&](const std::string& key, std::int64_t max) -> Result<std::size_t> {
        CLASP_ASSIGN_OR_RETURN(const std::int64_t value, read_integer(reader, "clip.vision." + key, 1, max));
        return static_cast<std::size_t>(value);
    };
    VisionInfo& info = file.info;
    CLASP_ASSIGN_OR_RETURN(info.image_size, size("image_size", kMaxQwenSide));
    CLASP_ASSIGN_OR_RETURN(info.patch_size, size("patch_size", kMaxQwenPatch));
    CLASP_ASSIGN_OR_RETURN(info.width, size("embedding_length", kMaxQwenWidth));
    CLASP_ASSIGN_OR_RETURN(info.n_blocks, size("block_count", kMaxQwenBlocks));
    CLASP_ASSIGN_OR_RETURN(info.n_heads, size("attention.head_count", extent(info.width)));
    CLASP_ASSIGN_OR_RETURN(info.norm_epsilon,
                           read_float(reader, "clip.vision.attention.layer_norm_epsilon", 0.0F, 1.0F));
    CLASP_ASSIGN_OR_RETURN(const std::vector<float> mean,
                           read_floats(reader, "clip.vision.image_mean", 3, -10.0F, 10.0F));
    CLASP_ASSIGN_OR_RETURN(const std::vector<float> deviation,
                           read_floats(reader, "clip.vision.image_std", 3, 1e-4F, 1e4F));
    std::copy_n(mean.begin(), 3, info.mean.begin());
    std::copy_n(deviation.begin(), 3, info.std.begin());
    if (info.width % (4 * info.n_heads) != 0) {
        return {Code::Corrupt, "the tower's width " + std::to_string(info.width) + " gives its " +
                                   std::to_string(info.n_heads) +
                                   " heads no width that divides by 4, as its rotation needs"};
    }
    CLASP_ASSIGN_OR_RETURN(
        const std::int64_t merge,
        value_or(read_integer(reader, "clip.vision.spatial_merge_size", 0, 1 << 20), kQwenMerge));
    if (merge != kQwenMerge) {
        return {Code::Unsupported, "clip.vision.spatial_merge_size is " + std::to_string(merge) + "; only " +
                                       std::to_string(kQwenMerge) + " is supported"};
    }
    info.capabilities = {.has_class_token = false, .merge = static_cast<std::size_t>(kQwenMerge)};
    return ok_status();
}

// A file that names another activation is not of this generation.
Status read_qwen_activation(const GgufReader& reader, QwenFile& file) {
    file.info.activation = file.generation->activation;
    for (const auto& [key, meaning] :
         {std::pair{"clip.use_gelu", Activation::Gelu}, {"clip.use_silu", Activation::Silu}}) {
        const bool wanted = file.info.activation == meaning;
        CLASP_ASSIGN_OR_RETURN(const bool is_set, value_or(read_flag(reader, key), false));
        if (is_set == wanted) continue;
        return {Code::Unsupported, std::string(key) + (is_set ? " is set" : " is not set") +
                                       ", unlike in all towers of type " + file.info.projector_type};
    }
    return ok_status();
}

Status read_windows(const GgufReader& reader, QwenFile& file) {
    const std::string key = "clip.vision.n_wa_pattern";
    if (!file.generation->has_windows) {
        if (reader.find(key) == nullptr) return ok_status();
        return {Code::Unsupported,
                key + " is set, but towers of type " + file.info.projector_type + " have no windows"};
    }
    CLASP_ASSIGN_OR_RETURN(const std::int64_t pattern,
                           read_integer(reader, key, 1, extent(file.info.n_blocks)));
    file.window_pattern = static_cast<std::size_t>(pattern);
    // Converters do not write it; if one does, it is what the tower was trained with.
    const auto token_side = extent(file.info.patch_size) * kQwenMerge;
    CLASP_ASSIGN_OR_RETURN(
        const std::int64_t pixels,
        value_or(read_integer(reader, "clip.vision.window_size", 1, kMaxQwenSide), kWindowPixels));
    if (pixels < token_side) {
        return {Code::Corrupt, "windows of " + std::to_string(pixels) + " pixels hold no token of " +
                                   std::to_string(token_side)};
    }
    file.window = static_cast<std::size_t>(pixels / token_side);
    return ok_status();
}

FfnNames qwen_ffn_names(const GgufReader& reader, const QwenFile& file, const std::string& prefix) {
    if (file.generation->may_swap_ffn) return ffn_names(reader, prefix, file.info.width);
    return {prefix + "ffn_up", prefix + "ffn_down"};
}

// Old files have another number in feed_forward_length, so the first block's matrix tells.
Result<std::size_t> find_ffn_width(const GgufReader& reader, const QwenFile& file) {
    const std::string name = qwen_ffn_names(reader, file, "v.blk.0.").first + ".weight";
    const GgufTensor* matrix = reader.find_tensor(name);
    if (matrix == nullptr) return Status(Code::Corrupt, "tensor " + name + " is missing");
    const std::int64_t rows = matrix->shape[1];
    if (rows < 1 || rows > 8 * kMaxQwenWidth) {
        return Status(Code::Corrupt, "tensor " + name + " has " + std::to_string(rows) +
                                         " rows; the limit is " + std::to_string(8 * kMaxQwenWidth));
    }
    return static_cast<std::size_t>(rows);
}

// The table is square; a picture of its size is that of the keys.
Status read_positions(const GgufReader& reader, QwenFile& file) {
    if (!file.generation->has_positions) return ok_status();
    const std::string name = "v.position_embd.weight";
    const GgufTensor* table = reader.find_tensor(name);
    if (table == nullptr) return {Code::Corrupt, "tensor " + name + " is missing"};
    const std::int64_t rows = table->shape[1];
    const auto side = static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(rows))));
    if (rows < 1 || rows > kMaxQwenSide * kMaxQwenSide || side * side != rows) {
        return {Code::Corrupt, "tensor " + name + " has " + std::to_string(rows) +
                                   " rows, which is no square table of positions"};
    }
    file.position_side = static_cast<std::size_t>(side);
    return ok_status();
}

std::string deepstack_prefix(std::size_t block) {
    return "v.deepstack." + std::to_string(block) + ".";
}

// Blocks that have a merger of their own. The key only repeats what the tensors tell.
Status read_branches(const GgufReader& reader, QwenFile& file) {
    if (!file.generation->has_deepstack) return ok_status();
    const std::string key = "clip.vision.is_deepstack_layers";
    std::vector<bool> named;
    if (reader.find(key) != nullptr) {
        CLASP_ASSIGN_OR_RETURN(named, read_flags(reader, key, file.info.n_blocks));
    }
    for (std::size_t i = 0; i < file.info.n_blocks; ++i) {
        const bool is_there = reader.find_tensor(deepstack_prefix(i) + "fc1.weight") != nullptr;
        if (!named.empty() && named[i] != is_there) {
            return {Code::Corrupt, key + (named[i] ? " names block " : " does not name block ") +
                                       std::to_string(i) + ", but tensor " + deepstack_prefix(i) +
                                       "fc1.weight is " + (is_there ? "there" : "missing")};
        }
        if (is_there) file.info.branch_layers.push_back(i);
    }
    return ok_status();
}

// Lists the tensors of a file.
class Lister {
   public:
    Lister(const GgufReader& reader, QwenFile& file) : reader_(reader), file_(file) {}

    void list() {
        const std::size_t width = file_.info.width;
        kernel("v.patch_embd.weight");
        kernel("v.patch_embd.weight.1");
        for (std::size_t i = 0; i < file_.info.n_blocks; ++i) {
            const std::string prefix = "v.blk." + std::to_string(i) + ".";
            norm(prefix + "ln1", width);
            norm(prefix + "ln2", width);
            if (file_.generation->has_fused_qkv) {
                matrix(prefix + "qkv", {prefix + "attn_qkv"}, width, 3 * width);
            } else {
                matrix(prefix + "qkv", {prefix + "attn_q", prefix + "attn_k", prefix + "attn_v"}, width,
                       width);
            }
            matrix(prefix + "attn_out", {prefix + "attn_out"}, width, width);
            feed_forward(prefix);
        }
        norm("v.post_ln", width);
        file_.merger.add_specs(file_.specs);
        if (file_.generation->has_positions) positions();
        const std::size_t merged = file_.merged_width();
        for (const std::size_t block : file_.info.branch_layers) {
            const std::string prefix = deepstack_prefix(block);
            norm(prefix + "norm", merged);
            matrix(prefix + "fc1", {prefix + "fc1"}, merged, merged);
            matrix(prefix + "fc2", {prefix + "fc2"}, merged, file_.info.output_width);
        }
    }

   private:
    // llama.cpp multiplies patches with the kernel in half precision (single if the file has BF16), in rows
    // of exactly this width: the same numbers need the same operands.
    void kernel(const std::string& name) {
        const auto side = extent(file_.info.patch_size);
        file_.specs.push_back({.name = name,
                               .parts = {name},
                               .part_shape = {side, side, 3, extent(file_.info.width)},
                               .use = WeightSpec::Use::Matrix,
                               .width = extent(file_.patch_values()),
                               .padded_width = extent(file_.padded_patch_values())});
        const GgufTensor* stored = reader_.find_tensor(name);
        const bool is_bf16 = stored != nullptr && stored->type == GGML_TYPE_BF16;
        WeightSpec copy = file_.specs.back();
        copy.name += ".llama_cpp";
        copy.padded_width = 0;
        copy.type = is_bf16 ? GGML_TYPE_F32 : GGML_TYPE_F16;
        file_.specs.push_back(std::move(copy));
    }

    void positions() {
        values("v.patch_embd.bias", {"v.patch_embd.bias"}, file_.info.width);
        values("v.position_embd.weight", {"v.position_embd.weight"}, file_.info.width);
        file_.specs.back().part_shape.push_back(extent(file_.position_side * file_.position_side));
    }

    void values(const std::string& name, std::vector<std::string> parts, std::size_t width,
                std::size_t padded = 0) {
        file_.specs.push_back({.name = name,
                               .parts = std::move(parts),
                               .part_shape = {extent(width)},
                               .width = extent(width),
                               .padded_width = extent(padded)});
    }

    void norm(const std::string& name, std::size_t width) {
        values(name + ".weight", {name + ".weight"}, width);
        if (!file_.generation->has_rms_norms) values(name + ".bias", {name + ".bias"}, width);
    }

    // Rows of the parts stand one below the other; padding is per part.
    void matrix(const std::string& name, const std::vector<std::string>& parts, std::size_t width,
                std::size_t rows, std::size_t padded_width = 0, std::size_t padded_rows = 0) {
        std::vector<std::string> weights;
        std::vector<std::string> biases;
        for (const std::string& part : parts) {
            weights.push_back(part + ".weight");
            biases.push_back(part + ".bias");
        }
        file_.specs.push_back({.name = name + ".weight",
                               .parts = std::move(weights),
                               .part_shape = {extent(width), extent(rows)},
                               .use = WeightSpec::Use::Matrix,
                               .width = extent(width),
                               .padded_width = extent(padded_width),
                               .padded_rows = extent(padded_rows)});
        values(name + ".bias", std::move(biases), rows, padded_rows);
    }

    // With a gate it stands above `up` in one matrix, so that one product gives both.
    void feed_forward(const std::string& prefix) {
        const std::size_t width = file_.info.width;
        const std::size_t ffn = file_.info.ffn_width;
        const std::size_t padded = file_.padded_ffn_width();
        const FfnNames names = qwen_ffn_names(reader_, file_, prefix);
        std::vector<std::string> first = {names.first};
        if (file_.generation->has_gate) first.insert(first.begin(), prefix + "ffn_gate");
        matrix(prefix + "fc1", first, width, ffn, 0, padded);
        matrix(prefix + "fc2", {names.second}, ffn, width, padded, 0);
    }

    const GgufReader& reader_;
    QwenFile& file_;
};

}  // namespace

std::size_t QwenFile::padded_ffn_width() const {
    return whole_vectors(info.ffn_width);
}

std::size_t QwenFile::padded_patch_values() const {
    return whole_vectors(patch_values());
}

Result<QwenFile> read_qwen_file(const GgufReader& reader, const QwenGeneration& generation) {
    QwenFile file;
    file.generation = &generation;
    VisionInfo& info = file.info;
    info.family = generation.family;
    info.projector_type = generation.projector_type;
    info.profile = generation.profile;
    info.token_range = generation.tokens;
    info.words.after = "";
    info.lays_on_white = true;
    info.sampling = kQwenSampling;
    if (!generation.has_deepstack) {
        // What the paper evaluated, and what its chat template says; that of Qwen3-VL says nothing.
        info.paper_token_range = TokenRange{kPaperMinTokens, generation.tokens.max};
        info.words.system = "You are a helpful assistant.";
    }
    info.differences = {
        "pictures have " + std::to_string(generation.tokens.min) + " to " +
            std::to_string(generation.tokens.max) +
            " tokens; llama.cpp gives them 8 to 4096 and rounds in single precision",
        "pictures are turned upright and stretched, transparency laid on white; llama.cpp pads with black",
        generation.has_deepstack ? "GELU of the mergers is the exact one"
                                 : "GELU of the merger is the exact one"};
    if (!generation.has_deepstack)
        info.differences.emplace_back(
            "the decoder's norms have the file's epsilon; llama.cpp computes with 0");
    if (generation.has_windows) {
        info.differences.emplace_back("windows are attended to one by one; llama.cpp masks a full table");
    }
    if (generation.start != kQwenVisionStart) {
        info.differences.emplace_back("pictures stand between " + std::string(generation.start) + " and " +
                                      std::string(generation.end) + "; llama.cpp writes " +
                                      std::string(kQwenVisionStart) + " and " + std::string(kQwenVisionEnd) +
                                      ", which are plain text to the model");
    }
    info.exactness = generation.has_windows || generation.has_positions
                         ? "with --compat llama.cpp every layer and token is llama.cpp's within the rounding "
                           "of half precision"
                         : kExactAsLlamaCpp;
    CLASP_RETURN_IF_ERROR(read_shape(reader, file));
    CLASP_RETURN_IF_ERROR(read_qwen_activation(reader, file));
    CLASP_RETURN_IF_ERROR(read_windows(reader, file));
    info.feature_layer = info.llama_cpp_feature_layer = info.n_blocks - 1;
    CLASP_RETURN_IF_ERROR(read_positions(reader, file));
    CLASP_RETURN_IF_ERROR(read_branches(reader, file));
    CLASP_ASSIGN_OR_RETURN(file.merger, MlpProjector::open(reader, file.merged_width(), kLlavaProjector));
    info.projector_width = file.merger.hidden_width();
    info.output_width = file.merger.output_width();
    CLASP_ASSIGN_OR_RETURN(info.ffn_width, find_ffn_width(reader, file));
    Lister(reader, file).list();
    for (const WeightSpec& spec : file.specs) CLASP_RETURN_IF_ERROR(check_spec(reader, spec));
    count_weights(reader, file.specs, info);
    return file;
}

}  // namespace clasp::model
