// InternLM2, whose queries, keys and values are one matrix: for every head of keys its queries' rows, its
// own, and those of its values.
#include <array>

#include "convert/text_plan.h"

namespace clasp::convert {
namespace {

// Rows of the values' heads, in their order.
std::vector<std::uint32_t> plain_rows(const std::vector<std::uint64_t>& heads, std::uint64_t head_width) {
    std::vector<std::uint32_t> rows;
    for (const std::uint64_t head : heads) {
        for (std::uint64_t i = 0; i < head_width; ++i) rows.push_back(static_cast<std::uint32_t>(head + i));
    }
    return rows;
}

Status plan_fused_attention(const std::string& from, const std::string& to, const TextShape& shape,
                            TensorPool& pool, ConversionPlan& plan) {
    const std::uint64_t queries_per_key = shape.n_heads / shape.n_kv_heads;
    const std::uint64_t group = (queries_per_key + 2) * shape.head_width;
    std::vector<std::uint64_t> queries;
    std::vector<std::uint64_t> keys;
    std::vector<std::uint64_t> values;
    for (std::uint64_t g = 0; g < shape.n_kv_heads; ++g) {
        for (std::uint64_t j = 0; j < queries_per_key; ++j)
            queries.push_back(g * group + j * shape.head_width);
        keys.push_back(g * group + queries_per_key * shape.head_width);
        values.push_back(keys.back() + shape.head_width);
    }
    CLASP_ASSIGN_OR_RETURN(
        const StoredTensor* const fused,
        pool.take(from + "attention.wqkv.weight", {shape.n_kv_heads * group, shape.width}));
    add_rows(plan.text, to + "attn_q.weight", TensorUse::Matrix, *fused, 0, shape.query_width(),
             neighbour_rows(queries, shape.head_width));
    add_rows(plan.text, to + "attn_k.weight", TensorUse::Matrix, *fused, 0, shape.kv_width(),
             neighbour_rows(keys, shape.head_width));
    add_rows(plan.text, to + "attn_v.weight", TensorUse::Matrix, *fused, 0, shape.kv_width(),
             plain_rows(values, shape.head_width));
    return ok_status();
}

}  // namespace

Status plan_internlm2(const TextSource& source, const TextDecoder& decoder, TensorPool& pool,
                      ConversionPlan& plan) {
    CLASP_ASSIGN_OR_RETURN(const TextShape shape,
                           plan_text_start(source, decoder, "tok_embeddings.weight", pool, plan));
    const std::array<TextRow, 6> rows = {{
        {"attention_norm.weight", "attn_norm.weight", {shape.width}},
        {"ffn_norm.weight", "ffn_norm.weight", {shape.width}},
        {"attention.wo.weight", "attn_output.weight", {shape.width, shape.query_width()}},
        {"feed_forward.w1.weight", "ffn_gate.weight", {shape.ffn_width, shape.width}},
        {"feed_forward.w3.weight", "ffn_up.weight", {shape.ffn_width, shape.width}},
        {"feed_forward.w2.weight", "ffn_down.weight", {shape.width, shape.ffn_width}},
    }};
    for (std::uint64_t i = 0; i < shape.n_layers; ++i) {
        const std::string from = source.body + "layers." + std::to_string(i) + ".";
        const std::string to = "blk." + std::to_string(i) + ".";
        CLASP_RETURN_IF_ERROR(plan_fused_attention(from, to, shape, pool, plan));
        CLASP_RETURN_IF_ERROR(plan_text_rows(from, to, rows, pool, plan));
    }
    return set_text_keys(source.config, decoder, shape, shape.head_width, plan);
}

}  // namespace clasp::convert
