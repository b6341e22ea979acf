// What the plans of all decoders share: numbers, keys, the ends of the stack.
#include <cmath>

#include "convert/text_plan.h"
#include "convert/text_rope_scaling.h"

namespace clasp::convert {
namespace {

constexpr std::uint64_t kMaxTextWidth = 1U << 20U;
constexpr std::uint64_t kMaxTextLayers = 512;
constexpr std::uint64_t kMaxTextHeads = 1U << 14U;
constexpr std::uint64_t kMaxTextContext = 1U << 28U;

std::optional<std::uint64_t> default_of(std::uint64_t value) {
    return value != 0 ? std::optional(value) : std::nullopt;
}

Status check_activation(const ModelConfig& config) {
    CLASP_ASSIGN_OR_RETURN(const std::string activation, config.text("hidden_act", "silu"));
    if (activation == "silu") return ok_status();
    return config.unsupported("hidden_act", "the decoder's feed-forward layers must have silu");
}

// Windows change nothing as long as the context fits into them.
Status check_window(const ModelConfig& config, const TextShape& shape, ConversionPlan& plan) {
    CLASP_ASSIGN_OR_RETURN(const bool uses_window,
                           config.flag("use_sliding_window", config.has("sliding_window")));
    if (!uses_window || !config.has("sliding_window")) return ok_status();
    CLASP_ASSIGN_OR_RETURN(const std::uint64_t window, config.count("sliding_window", kMaxTextContext));
    if (window >= shape.context_length) return ok_status();
    plan.notes.push_back("the decoder's window of " + std::to_string(window) +
                         " positions is not converted: longer prompts are read with full attention");
    return ok_status();
}

Result<TextShape> read_text_shape(const ModelConfig& config, const TextDecoder& decoder) {
    const TextDefaults& defaults = decoder.defaults;
    TextShape shape;
    CLASP_RETURN_IF_ERROR(check_activation(config));
    CLASP_ASSIGN_OR_RETURN(shape.width,
                           config.count("hidden_size", kMaxTextWidth, default_of(defaults.width)));
    CLASP_ASSIGN_OR_RETURN(shape.ffn_width,
                           config.count("intermediate_size", kMaxTextWidth, default_of(defaults.ffn_width)));
    CLASP_ASSIGN_OR_RETURN(shape.n_layers,
                           config.count("num_hidden_layers", kMaxTextLayers, default_of(defaults.n_layers)));
    CLASP_ASSIGN_OR_RETURN(shape.n_heads,
                           config.count("num_attention_heads", kMaxTextHeads, default_of(defaults.n_heads)));
    const std::uint64_t kv_heads = defaults.n_kv_heads != 0 ? defaults.n_kv_heads : shape.n_heads;
    CLASP_ASSIGN_OR_RETURN(shape.n_kv_heads, config.count("num_key_value_heads", kMaxTextHeads, kv_heads));
    CLASP_ASSIGN_OR_RETURN(shape.head_width,
                           config.count("head_dim", kMaxTextWidth, shape.width / shape.n_heads));
    CLASP_ASSIGN_OR_RETURN(shape.context_length, config.count("max_position_embeddings", kMaxTextContext,
                                                              default_of(defaults.context_length)));
    if (shape.n_heads % shape.n_kv_heads != 0 || shape.head_width % 2 != 0 || shape.head_width == 0) {
        return config.wrong("num_attention_heads",
                            "is " + std::to_string(shape.n_heads) + " for " +
                                std::to_string(shape.n_kv_heads) + " heads of keys of " +
                                std::to_string(shape.head_width) + " entries, which does not go together");
    }
    return shape;
}

Status plan_ends(const TextSource& source, const std::string& table, TensorPool& pool, const TextShape& shape,
                 ConversionPlan& plan) {
    CLASP_ASSIGN_OR_RETURN(const StoredTensor* const embeddings,
                           pool.take(table, {shape.n_rows, shape.width}));
    add_tensor(plan.text, "token_embd.weight", TensorUse::Head, *embeddings);
    CLASP_ASSIGN_OR_RETURN(const StoredTensor* const norm,
                           pool.take(source.body + "norm.weight", {shape.width}));
    add_tensor(plan.text, "output_norm.weight", TensorUse::Values, *norm);
    CLASP_ASSIGN_OR_RETURN(const bool is_tied, source.config.flag("tie_word_embeddings", false));
    if (is_tied) {
        pool.leave_out(source.head);
        return ok_status();
    }
    CLASP_ASSIGN_OR_RETURN(const StoredTensor* const head,
                           pool.take(source.head, {shape.n_rows, shape.width}));
    add_tensor(plan.text, "output.weight", TensorUse::Head, *head);
    return ok_status();
}

}  // namespace

Result<TextShape> plan_text_start(const TextSource& source, const TextDecoder& decoder,
                                  const std::string& table, TensorPool& pool, ConversionPlan& plan) {
    CLASP_ASSIGN_OR_RETURN(TextShape shape, read_text_shape(source.config, decoder));
    const std::string name = source.body + table;
    CLASP_ASSIGN_OR_RETURN(const StoredTensor* const embeddings, pool.take(name));
    shape.n_rows = embeddings->shape.front();
    CLASP_RETURN_IF_ERROR(plan_ends(source, name, pool, shape, plan));
    pool.leave_out_suffix(".rotary_emb.inv_freq");
    return shape;
}

Status plan_text_rows(const std::string& from, const std::string& to, std::span<const TextRow> rows,
                      TensorPool& pool, ConversionPlan& plan) {
    for (const TextRow& row : rows) {
        CLASP_ASSIGN_OR_RETURN(const StoredTensor* const tensor, pool.take(from + row.name, row.shape));
        add_tensor(plan.text, to + row.stored, row.shape.size() == 1 ? TensorUse::Values : TensorUse::Matrix,
                   *tensor);
    }
    return ok_status();
}

Status set_text_keys(const ModelConfig& config, const TextDecoder& decoder, const TextShape& shape,
                     std::uint64_t n_rotated, ConversionPlan& plan) {
    GgufKeys& keys = plan.text.keys;
    const std::string arch(decoder.architecture);
    const auto set = [&](const char* name, std::uint64_t value) { keys.set_u32(arch + "." + name, value); };
    keys.set_text("general.architecture", arch);
    keys.set_text("general.type", "model");
    set("context_length", shape.context_length);
    set("embedding_length", shape.width);
    set("block_count", shape.n_layers);
    set("feed_forward_length", shape.ffn_width);
    set("attention.head_count", shape.n_heads);
    set("attention.head_count_kv", shape.n_kv_heads);
    if (shape.query_width() != shape.width) {
        set("attention.key_length", shape.head_width);
        set("attention.value_length", shape.head_width);
    }
    set("rope.dimension_count", n_rotated);
    set("vocab_size", shape.n_rows);
    const double epsilon = decoder.defaults.norm_epsilon;
    CLASP_ASSIGN_OR_RETURN(
        const double norm_epsilon,
        config.number("rms_norm_eps", epsilon > 0.0 ? std::optional(epsilon) : std::nullopt));
    if (!(norm_epsilon >= 0.0 && norm_epsilon < 1.0)) return config.wrong("rms_norm_eps", "is not in [0, 1)");
    keys.set_f32(arch + ".attention.layer_norm_rms_epsilon", norm_epsilon);
    CLASP_RETURN_IF_ERROR(check_window(config, shape, plan));
    return set_rope(config, decoder, shape, n_rotated, plan);
}

}  // namespace clasp::convert
