#include "model/text_config.h"

#include <cmath>
#include <vector>

#include "model/gguf_metadata.h"

namespace clasp::model {
namespace {

// Limits far above any model of this kind; they keep products of two of them inside 63 bits.
constexpr std::int64_t kMaxLayers = 512;  // libllama's own limit
constexpr std::int64_t kMaxWidth = 1 << 20;
constexpr std::int64_t kMaxHeads = 1 << 14;
constexpr std::size_t kMaxVocabulary = 1 << 24;
constexpr std::int64_t kMaxContext = 1 << 28;
constexpr float kMaxCap = 1e6F;

Result<std::int64_t> integer_or(const GgufReader& file, const std::string& key, std::int64_t min,
                                std::int64_t max, std::int64_t fallback) {
    return value_or(read_integer(file, key, min, max), fallback);
}

Result<std::string> string_or(const GgufReader& file, const std::string& key, std::string_view fallback) {
    CLASP_ASSIGN_OR_RETURN(const std::string_view text, value_or(read_string(file, key), fallback));
    return std::string(text);
}

bool has(const GgufReader& file, const std::string& key) {
    return file.find(key) != nullptr;
}

// Keys that change what a model computes, and that the graphs do not follow.
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
         {".attention.clamp_kqv", ".attention.causal", ".embedding_length_out", ".attention.scale",
          ".attention.key_length_swa", ".attention.value_length_swa", ".rope.dimension_count_swa"}) {
        if (has(file, arch + suffix)) {
            return {Code::Unsupported, "the text model sets " + arch + suffix + ", which is not supported"};
        }
    }
    return refuse_parts(file);
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

// The bound of a soft cap, above 0; 0 stands for none.
Result<float> read_cap(const GgufReader& file, const std::string& key, Presence presence) {
    if (presence == Presence::Absent) {
        if (!has(file, key)) return 0.0F;
        return Status(Code::Unsupported, "the text model sets " + key + ", which is not supported");
    }
    auto cap = read_float(file, key, 0.0F, kMaxCap);
    if (!cap.ok() && cap.status().code() == Code::NotFound && presence == Presence::Optional) return 0.0F;
    if (cap.ok() && *cap <= 0.0F) return Status(Code::Corrupt, key + " is 0, which leaves nothing");
    return cap;
}

// Per layer, 0 where there is no window.
Result<std::vector<std::int32_t>> read_windows(const GgufReader& file, const TextFamily& family,
                                               std::int32_t n_layers) {
    const auto n = static_cast<std::size_t>(n_layers);
    std::vector<std::int32_t> windows(n, 0);
    if (family.window == Presence::Absent) return windows;
    const std::string key = std::string(family.architecture) + ".attention.sliding_window";
    if (!has(file, key) && family.window == Presence::Optional) return windows;
    CLASP_ASSIGN_OR_RETURN(const std::int64_t window, read_integer(file, key, 1, kMaxContext));
    const std::string pattern_key = key + "_pattern";
    const GgufEntry* pattern = file.find(pattern_key);
    if (pattern != nullptr && pattern->is_array) {
        CLASP_ASSIGN_OR_RETURN(const std::vector<bool> has_window, read_flags(file, pattern_key, n));
        for (std::size_t i = 0; i < n; ++i)
            windows[i] = has_window[i] ? static_cast<std::int32_t>(window) : 0;
        return windows;
    }
    CLASP_ASSIGN_OR_RETURN(const std::int64_t period,
                           integer_or(file, pattern_key, 1, kMaxLayers, family.window_pattern));
    for (std::size_t i = 0; i < n; ++i) {
        const bool sees_all = (static_cast<std::int64_t>(i) + 1) % period == 0;
        windows[i] = sees_all ? 0 : static_cast<std::int32_t>(window);
    }
    return windows;
}

// Fewer than there are blocks: the last one's output is read for the last row alone.
Result<std::int32_t> read_deepstack(const GgufReader& file, const TextFamily& family, std::int32_t n_layers) {
    const std::string key = std::string(family.architecture) + ".n_deepstack_layers";
    CLASP_ASSIGN_OR_RETURN(const std::int64_t n, integer_or(file, key, 0, n_layers - 1, 0));
    if (n != 0 && !family.has_deepstack) {
        return Status(Code::Unsupported,
                      "the text model has " + key + " = " + std::to_string(n) + ", which is not supported");
    }
    return static_cast<std::int32_t>(n);
}

Status read_heads(const GgufReader& file, const std::string& arch, TextConfig& config) {
    CLASP_ASSIGN_OR_RETURN(config.n_heads, positive(file, arch + ".attention.head_count", kMaxHeads));
    config.n_kv_heads = config.n_heads;
    if (has(file, arch + ".attention.head_count_kv")) {
        CLASP_ASSIGN_OR_RETURN(config.n_kv_heads,
                               positive(file, arch + ".attention.head_count_kv", kMaxHeads));
    }
    if (config.n_heads % config.n_kv_heads != 0) {
        return {Code::Corrupt, std::to_string(config.n_heads) + " query heads cannot share " +
                                   std::to_string(config.n_kv_heads) + " key heads"};
    }
    CLASP_ASSIGN_OR_RETURN(const std::int64_t key_width,
                           integer_or(file, arch + ".attention.key_length", 1, kMaxWidth / kMaxHeads * 64,
                                      config.width / config.n_heads));
    CLASP_ASSIGN_OR_RETURN(const std::int64_t value_width,
                           integer_or(file, arch + ".attention.value_length", 1, kMaxWidth, key_width));
    if (key_width != value_width || key_width < 2 || key_width % 2 != 0) {
        return {Code::Unsupported, "attention heads of " + std::to_string(key_width) + " by " +
                                       std::to_string(value_width) + " entries are not supported"};
    }
    config.head_width = static_cast<std::int32_t>(key_width);
    if (static_cast<std::int64_t>(config.n_heads) * key_width > kMaxWidth) {
        return {Code::Corrupt, std::to_string(config.n_heads) + " heads of " + std::to_string(key_width) +
                                   " entries exceed " + std::to_string(kMaxWidth)};
    }
    return ok_status();
}

// What the family's row says about attention and the ends of the stack.
Status read_family_numbers(const GgufReader& file, const TextFamily& family, TextConfig& config) {
    const std::string arch(family.architecture);
    const bool by_width = family.width_scale_depth != 0 && config.n_layers == family.width_scale_depth;
    const std::int32_t scaled = by_width ? config.width / config.n_heads : config.head_width;
    config.attention_scale = 1.0F / std::sqrt(static_cast<float>(scaled));
    if (family.scales_text) config.embedding_scale = std::sqrt(static_cast<float>(config.width));
    CLASP_ASSIGN_OR_RETURN(config.attention_cap,
                           read_cap(file, arch + ".attn_logit_softcapping", family.attention_cap));
    CLASP_ASSIGN_OR_RETURN(config.final_cap,
                           read_cap(file, arch + ".final_logit_softcapping", family.final_cap));
    CLASP_ASSIGN_OR_RETURN(config.n_deepstack, read_deepstack(file, family, config.n_layers));
    CLASP_ASSIGN_OR_RETURN(config.windows, read_windows(file, family, config.n_layers));
    CLASP_ASSIGN_OR_RETURN(config.rope, read_rope(file, family, config.head_width, config.context_length));
    CLASP_ASSIGN_OR_RETURN(config.window_rope, read_window_rope(file, family, config.rope));
    return ok_status();
}

}  // namespace

Status refuse_parts(const GgufReader& file) {
    if (!has(file, "split.count")) return ok_status();
    CLASP_ASSIGN_OR_RETURN(const std::int64_t parts, read_integer(file, "split.count", 0, 1 << 16));
    if (parts <= 1) return ok_status();
    return {Code::Unsupported,
            "the file is one of " + std::to_string(parts) + " parts; join them with llama-gguf-split"};
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
    config.family = family;
    CLASP_ASSIGN_OR_RETURN(config.name, string_or(file, "general.name", ""));
    CLASP_RETURN_IF_ERROR(refuse_unknown_variants(file, arch));
    CLASP_ASSIGN_OR_RETURN(config.n_layers, positive(file, arch + ".block_count", kMaxLayers));
    CLASP_ASSIGN_OR_RETURN(config.width, positive(file, arch + ".embedding_length", kMaxWidth));
    CLASP_ASSIGN_OR_RETURN(config.ffn_width, positive(file, arch + ".feed_forward_length", kMaxWidth));
    CLASP_RETURN_IF_ERROR(read_heads(file, arch, config));
    CLASP_ASSIGN_OR_RETURN(config.context_length, positive(file, arch + ".context_length", kMaxContext));
    CLASP_ASSIGN_OR_RETURN(config.norm_epsilon,
                           read_float(file, arch + ".attention.layer_norm_rms_epsilon", 0.0F, 1.0F));
    CLASP_ASSIGN_OR_RETURN(const auto tokens, read_strings(file, "tokenizer.ggml.tokens", kMaxVocabulary));
    if (tokens.empty()) return Status(Code::Corrupt, "the vocabulary is empty");
    config.vocabulary = static_cast<std::int32_t>(tokens.size());
    CLASP_RETURN_IF_ERROR(read_family_numbers(file, *family, config));
    return config;
}

}  // namespace clasp::model
