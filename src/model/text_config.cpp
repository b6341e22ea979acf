#include "model/text_config.h"

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "ggml.h"
#include "model/gguf_metadata.h"

namespace clasp::model {
namespace {

constexpr std::array<TextFamily, 1> kFamilies = {{
    {"llama", GGML_ROPE_TYPE_NORMAL, false},
}};

// Limits far above any model of this kind; they keep products of two of them inside 63 bits.
constexpr std::int64_t kMaxLayers = 512;  // libllama's own limit
constexpr std::int64_t kMaxWidth = 1 << 20;
constexpr std::int64_t kMaxHeads = 1 << 14;
constexpr std::size_t kMaxVocabulary = 1 << 24;
constexpr std::int64_t kMaxContext = 1 << 28;
constexpr float kHuge = std::numeric_limits<float>::max();

Result<std::int64_t> integer_or(const GgufReader& file, const std::string& key, std::int64_t min,
                                std::int64_t max, std::int64_t fallback) {
    return value_or(read_integer(file, key, min, max), fallback);
}

Result<float> float_or(const GgufReader& file, const std::string& key, float min, float max, float fallback) {
    return value_or(read_float(file, key, min, max), fallback);
}

Result<std::string> string_or(const GgufReader& file, const std::string& key, std::string_view fallback) {
    CLASP_ASSIGN_OR_RETURN(const std::string_view text, value_or(read_string(file, key), fallback));
    return std::string(text);
}

bool has(const GgufReader& file, const std::string& key) {
    return file.find(key) != nullptr;
}

// The rule by which YaRN corrects the size of the attention logits: ggml_rope_ext multiplies by
// 1 + 0.1 ln(1 / freq_scale) itself, so the factor is divided by that beforehand.
float yarn_attention_factor(float scaling) {
    const float grown = 1.0F + 0.1F * std::log(scaling);
    return (scaling <= 1.0F ? 1.0F : grown) / grown;
}

Result<RopeConfig> read_rope(const GgufReader& file, const std::string& arch, const TextConfig& config,
                             std::int32_t mode) {
    RopeConfig rope;
    rope.mode = mode;
    CLASP_ASSIGN_OR_RETURN(const std::int64_t n_dims,
                           integer_or(file, arch + ".rope.dimension_count", 2, kMaxWidth, config.head_width));
    if (n_dims != config.head_width) {
        return Status(Code::Unsupported, arch + ".rope.dimension_count is " + std::to_string(n_dims) +
                                             ", but heads are " + std::to_string(config.head_width) +
                                             " wide");
    }
    rope.n_dims = static_cast<std::int32_t>(n_dims);
    CLASP_ASSIGN_OR_RETURN(const std::int64_t original,
                           integer_or(file, arch + ".rope.scaling.original_context_length", 1, kMaxContext,
                                      config.context_length));
    rope.original_context = static_cast<std::int32_t>(original);
    CLASP_ASSIGN_OR_RETURN(rope.freq_base, float_or(file, arch + ".rope.freq_base", 1.0F, kHuge, 10000.0F));

    CLASP_ASSIGN_OR_RETURN(const std::string scaling, string_or(file, arch + ".rope.scaling.type", "linear"));
    if (scaling != "none" && scaling != "linear" && scaling != "yarn") {
        return Status(Code::Unsupported,
                      arch + ".rope.scaling.type is \"" + scaling + "\"; none, linear and yarn are known");
    }
    CLASP_ASSIGN_OR_RETURN(const float old_factor,
                           float_or(file, arch + ".rope.scale_linear", 0.0F, 1e6F, 0.0F));
    CLASP_ASSIGN_OR_RETURN(const float factor,
                           float_or(file, arch + ".rope.scaling.factor", 0.0F, 1e6F, old_factor));
    if (scaling != "none" && factor != 0.0F) rope.freq_scale = 1.0F / factor;

    const bool is_yarn = scaling == "yarn";
    CLASP_ASSIGN_OR_RETURN(rope.extrapolation,
                           float_or(file, arch + ".rope.scaling.yarn_ext_factor", -1.0F, kHuge, -1.0F));
    if (rope.extrapolation < 0.0F) rope.extrapolation = is_yarn ? 1.0F : 0.0F;
    CLASP_ASSIGN_OR_RETURN(rope.attention_factor,
                           float_or(file, arch + ".rope.scaling.yarn_attn_factor", 0.0F, kHuge, 1.0F));
    CLASP_ASSIGN_OR_RETURN(rope.beta_fast,
                           float_or(file, arch + ".rope.scaling.yarn_beta_fast", 0.0F, kHuge, 32.0F));
    CLASP_ASSIGN_OR_RETURN(rope.beta_slow,
                           float_or(file, arch + ".rope.scaling.yarn_beta_slow", 0.0F, kHuge, 1.0F));
    CLASP_ASSIGN_OR_RETURN(const float extra_factor,
                           float_or(file, arch + ".rope.scaling.attn_factor", 0.0F, kHuge, 1.0F));
    if (has(file, arch + ".rope.scaling.yarn_log_multiplier")) {
        return Status(Code::Unsupported, arch + ".rope.scaling.yarn_log_multiplier is not supported");
    }
    if (rope.extrapolation != 0.0F) rope.attention_factor = yarn_attention_factor(1.0F / rope.freq_scale);
    rope.attention_factor *= extra_factor;
    return rope;
}

// Keys that change what a model of the llama shape computes, and that the graphs do not follow.
Status refuse_unknown_variants(const GgufReader& file, const std::string& arch) {
    for (const char* suffix : {".expert_count", ".expert_used_count", ".expert_group_count",
                               ".expert_group_used_count", ".nextn_predict_layers", ".pooling_type"}) {
        CLASP_ASSIGN_OR_RETURN(const std::int64_t value, integer_or(file, arch + suffix, 0, kMaxWidth, 0));
        if (value != 0) {
            return {Code::Unsupported, "the text model has " + arch + suffix + " = " + std::to_string(value) +
                                           ", which is not supported"};
        }
    }
    for (const char* suffix :
         {".attention.clamp_kqv", ".attention.causal", ".embedding_length_out", ".attention.scale"}) {
        if (has(file, arch + suffix)) {
            return {Code::Unsupported, "the text model sets " + arch + suffix + ", which is not supported"};
        }
    }
    if (has(file, "split.count")) {
        CLASP_ASSIGN_OR_RETURN(const std::int64_t parts, read_integer(file, "split.count", 0, 1 << 16));
        if (parts > 1) {
            return {Code::Unsupported, "the file is one of " + std::to_string(parts) +
                                           " parts; join them with llama-gguf-split"};
        }
    }
    return ok_status();
}

// An integer, or an array of equal ones (one per layer), from 1 to max.
Result<std::int32_t> positive(const GgufReader& file, const std::string& key, std::int64_t max) {
    const GgufEntry* entry = file.find(key);
    if (entry == nullptr || !entry->is_array) {
        CLASP_ASSIGN_OR_RETURN(const std::int64_t value, read_integer(file, key, 1, max));
        return static_cast<std::int32_t>(value);
    }
    CLASP_ASSIGN_OR_RETURN(const std::vector<std::int64_t> values,
                           read_integers(file, key, kMaxLayers, 1, max));
    if (values.empty()) return Status(Code::Corrupt, "the metadata key " + key + " is an empty array");
    for (const std::int64_t value : values) {
        if (value != values.front()) return Status(Code::Unsupported, key + " differs between layers");
    }
    return static_cast<std::int32_t>(values.front());
}

}  // namespace

const TextFamily* find_text_family(std::string_view architecture) {
    for (const TextFamily& family : kFamilies) {
        if (family.architecture == architecture) return &family;
    }
    return nullptr;
}

std::string text_family_names() {
    std::string names;
    for (const TextFamily& family : kFamilies) {
        if (!names.empty()) names += ", ";
        names += family.architecture;
    }
    return names;
}

Result<TextConfig> read_text_config(const GgufReader& file) {
    TextConfig config;
    CLASP_ASSIGN_OR_RETURN(const std::string arch, string_or(file, "general.architecture", ""));
    const TextFamily* family = find_text_family(arch);
    if (family == nullptr) {
        return Status(Code::Unsupported, "the file holds a model of architecture \"" + arch +
                                             "\"; text models of architecture " + text_family_names() +
                                             " are supported");
    }
    config.architecture = arch;
    CLASP_ASSIGN_OR_RETURN(config.name, string_or(file, "general.name", ""));
    CLASP_RETURN_IF_ERROR(refuse_unknown_variants(file, arch));
    CLASP_ASSIGN_OR_RETURN(config.n_layers, positive(file, arch + ".block_count", kMaxLayers));
    CLASP_ASSIGN_OR_RETURN(config.width, positive(file, arch + ".embedding_length", kMaxWidth));
    CLASP_ASSIGN_OR_RETURN(config.ffn_width, positive(file, arch + ".feed_forward_length", kMaxWidth));
    CLASP_ASSIGN_OR_RETURN(config.n_heads, positive(file, arch + ".attention.head_count", kMaxHeads));
    config.n_kv_heads = config.n_heads;
    if (has(file, arch + ".attention.head_count_kv")) {
        CLASP_ASSIGN_OR_RETURN(config.n_kv_heads,
                               positive(file, arch + ".attention.head_count_kv", kMaxHeads));
    }
    if (config.n_heads % config.n_kv_heads != 0) {
        return Status(Code::Corrupt, std::to_string(config.n_heads) + " query heads cannot share " +
                                         std::to_string(config.n_kv_heads) + " key heads");
    }
    CLASP_ASSIGN_OR_RETURN(const std::int64_t key_width,
                           integer_or(file, arch + ".attention.key_length", 1, kMaxWidth / kMaxHeads * 64,
                                      config.width / config.n_heads));
    CLASP_ASSIGN_OR_RETURN(const std::int64_t value_width,
                           integer_or(file, arch + ".attention.value_length", 1, kMaxWidth, key_width));
    if (key_width != value_width || key_width < 2 || key_width % 2 != 0) {
        return Status(Code::Unsupported, "attention heads of " + std::to_string(key_width) + " by " +
                                             std::to_string(value_width) + " entries are not supported");
    }
    config.head_width = static_cast<std::int32_t>(key_width);
    if (static_cast<std::int64_t>(config.n_heads) * key_width > kMaxWidth) {
        return Status(Code::Corrupt, std::to_string(config.n_heads) + " heads of " +
                                         std::to_string(key_width) + " entries exceed " +
                                         std::to_string(kMaxWidth));
    }
    CLASP_ASSIGN_OR_RETURN(config.context_length, positive(file, arch + ".context_length", kMaxContext));
    CLASP_ASSIGN_OR_RETURN(config.norm_epsilon,
                           read_float(file, arch + ".attention.layer_norm_rms_epsilon", 0.0F, 1.0F));
    config.attention_scale = 1.0F / std::sqrt(static_cast<float>(config.head_width));
    CLASP_ASSIGN_OR_RETURN(const auto tokens, read_strings(file, "tokenizer.ggml.tokens", kMaxVocabulary));
    if (tokens.empty()) return Status(Code::Corrupt, "the vocabulary is empty");
    config.vocabulary = static_cast<std::int32_t>(tokens.size());
    CLASP_ASSIGN_OR_RETURN(config.rope, read_rope(file, arch, config, family->rope_mode));
    return config;
}

}  // namespace clasp::model
