// Phi 3, whose fused matrices stay fused.
#include <array>
#include <cmath>

#include "convert/text_plan.h"

namespace clasp::convert {

Status plan_phi3(const TextSource& source, const TextDecoder& decoder, TensorPool& pool,
                 ConversionPlan& plan) {
    CLASP_ASSIGN_OR_RETURN(const TextShape shape,
                           plan_text_start(source, decoder, "embed_tokens.weight", pool, plan));
    const std::array<TextRow, 6> rows = {{
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
        const std::string number = std::to_string(i);
        CLASP_RETURN_IF_ERROR(
            plan_text_rows(source.body + "layers." + number + ".", "blk." + number + ".", rows, pool, plan));
    }
    CLASP_ASSIGN_OR_RETURN(const double share, source.config.number("partial_rotary_factor", 1.0));
    if (!(share > 0.0 && share <= 1.0))
        return source.config.wrong("partial_rotary_factor", "is not in (0, 1]");
    const auto n_rotated = static_cast<std::uint64_t>(share * static_cast<double>(shape.head_width));
    return set_text_keys(source.config, decoder, shape, n_rotated, plan);
}

}  // namespace clasp::convert
