// Phi 3, whose fused matrices stay fused.
#include <array>
#include <cmath>

#include "convert/text_plan.h"

namespace clasp::convert {

Status plan_phi3(const TextSource& source, const TextDecoder& decoder, TensorPool& pool,
                 ConversionPlan& plan) {
    CLASP_ASSIGN_OR_RETURN(TextShape shape, read_text_shape(source.config, decoder));
    const std::string table = source.body + "embed_tokens.weight";
    CLASP_ASSIGN_OR_RETURN(const StoredTensor* const embeddings, pool.take(table));
    shape.n_rows = embeddings->shape.front();
    CLASP_RETURN_IF_ERROR(plan_ends(source, table, pool, shape, plan));
    pool.leave_out_suffix(".rotary_emb.inv_freq");
    struct Row {
        const char* name;
        const char* stored;
        std::vector<std::uint64_t> shape;
    };
    const std::array<Row, 6> rows = {{
        {"input_layernorm.weight", "attn_norm.weight", {shape.width}},
        {"post_attention_layernorm.weight", "ffn_norm.weight", {shape.width}},
        {"self_attn.qkv_proj.weight",
         "attn_qkv.weight",
         {shape.query_width() + 2 * shape.kv_width(), shape.width}},
        {"self_attn.o_proj.weight", "attn_output.weight", {shape.width, shape.query_width()}},
        {"mlp.gate_up_proj.weight", "ffn_up.weight", {2 * shape.ffn_width, shape.width}},
        {"mlp.down_proj.weight", "ffn_down.weight", {shape.width, shape.ffn_width}},
    }};
    for (std::uint64_t i = 0; i < shape.n_layers; ++i) {
        for (const Row& row : rows) {
            CLASP_ASSIGN_OR_RETURN(
                const StoredTensor* const tensor,
                pool.take(source.body + "layers." + std::to_string(i) + "." + row.name, row.shape));
            add_tensor(plan.text, "blk." + std::to_string(i) + "." + row.stored,
                       row.shape.size() == 1 ? TensorUse::Values : TensorUse::Matrix, *tensor);
        }
    }
    CLASP_ASSIGN_OR_RETURN(const double share, source.config.number("partial_rotary_factor", 1.0));
    if (!(share > 0.0 && share <= 1.0))
        return source.config.wrong("partial_rotary_factor", "is not in (0, 1]");
    const auto n_rotated = static_cast<std::uint64_t>(share * static_cast<double>(shape.head_width));
    return set_text_keys(source.config, decoder, shape, n_rotated, plan);
}

}  // namespace clasp::convert
