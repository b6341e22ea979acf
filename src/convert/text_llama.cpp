// Decoders that are named as Llama's: Llama, Mistral and, with halves turned instead of neighbours, Qwen2.
#include <array>

#include "convert/text_plan.h"

namespace clasp::convert {
namespace {

struct LlamaMatrix {
    const char* name;    // in the checkpoint
    const char* stored;  // in the file
    std::uint64_t n_outputs;
    std::uint64_t n_inputs;
    std::uint64_t n_turned_heads;  // 0: rows stay in their order
};

Status plan_matrix(const std::string& from, const std::string& to, const LlamaMatrix& matrix,
                   std::uint64_t head_width, TensorPool& pool, ConversionPlan& plan) {
    const auto rows = neighbour_rows(heads_in_order(matrix.n_turned_heads, head_width), head_width);
    const std::string name = from + matrix.name;
    const std::string stored = to + matrix.stored;
    CLASP_ASSIGN_OR_RETURN(const StoredTensor* const weight,
                           pool.take(name + ".weight", {matrix.n_outputs, matrix.n_inputs}));
    add_rows(plan.text, stored + ".weight", TensorUse::Matrix, *weight, 0, matrix.n_outputs, rows);
    if (!pool.has(name + ".bias")) return ok_status();
    CLASP_ASSIGN_OR_RETURN(const StoredTensor* const bias, pool.take(name + ".bias", {matrix.n_outputs}));
    add_rows(plan.text, stored + ".bias", TensorUse::Values, *bias, 0, matrix.n_outputs, rows);
    return ok_status();
}

Status plan_block(const std::string& from, const std::string& to, const TextShape& shape,
                  bool turns_neighbours, TensorPool& pool, ConversionPlan& plan) {
    const std::array<LlamaMatrix, 7> matrices = {{
        {"self_attn.q_proj", "attn_q", shape.query_width(), shape.width,
         turns_neighbours ? shape.n_heads : 0},
        {"self_attn.k_proj", "attn_k", shape.kv_width(), shape.width,
         turns_neighbours ? shape.n_kv_heads : 0},
        {"self_attn.v_proj", "attn_v", shape.kv_width(), shape.width, 0},
        {"self_attn.o_proj", "attn_output", shape.width, shape.query_width(), 0},
        {"mlp.gate_proj", "ffn_gate", shape.ffn_width, shape.width, 0},
        {"mlp.up_proj", "ffn_up", shape.ffn_width, shape.width, 0},
        {"mlp.down_proj", "ffn_down", shape.width, shape.ffn_width, 0},
    }};
    for (const auto& [name, stored] : {std::pair("input_layernorm.weight", "attn_norm.weight"),
                                       std::pair("post_attention_layernorm.weight", "ffn_norm.weight")}) {
        CLASP_ASSIGN_OR_RETURN(const StoredTensor* const norm, pool.take(from + name, {shape.width}));
        add_tensor(plan.text, to + stored, TensorUse::Values, *norm);
    }
    for (const LlamaMatrix& matrix : matrices) {
        CLASP_RETURN_IF_ERROR(plan_matrix(from, to, matrix, shape.head_width, pool, plan));
    }
    return ok_status();
}

}  // namespace

Status plan_llama(const TextSource& source, const TextDecoder& decoder, TensorPool& pool,
                  ConversionPlan& plan) {
    CLASP_ASSIGN_OR_RETURN(const TextShape shape,
                           plan_text_start(source, decoder, "embed_tokens.weight", pool, plan));
    for (std::uint64_t i = 0; i < shape.n_layers; ++i) {
        const std::string number = std::to_string(i);
        CLASP_RETURN_IF_ERROR(plan_block(source.body + "layers." + number + ".", "blk." + number + ".", shape,
                                         decoder.architecture == "llama", pool, plan));
    }
    return set_text_keys(source.config, decoder, shape, shape.head_width, plan);
}

}  // namespace clasp::convert
