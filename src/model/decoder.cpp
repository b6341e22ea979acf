#include "model/decoder.h"

#include <algorithm>

namespace clasp::model {
namespace {

// From this many queries on, ggml's CPU backend accumulates attention in single precision; below, it
// sums values in half precision. A prompt's last block takes so many along for the sake of one.
constexpr std::int64_t kPreciseQueries = 64;

ggml_tensor* add_bias(ggml_context* context, ggml_tensor* x, ggml_tensor* bias) {
    return bias != nullptr ? ggml_add(context, x, bias) : x;
}

ggml_tensor* linear(ggml_context* context, ggml_tensor* weight, ggml_tensor* bias, ggml_tensor* x) {
    return add_bias(context, ggml_mul_mat(context, weight, x), bias);
}

ggml_tensor* normalise(const DecoderGraph& g, ggml_tensor* x, ggml_tensor* weight) {
    return ggml_mul(g.context, ggml_rms_norm(g.context, x, g.config->norm_epsilon), weight);
}

// Rows n - n_out ... n - 1 of x [width, n].
ggml_tensor* last_rows(ggml_context* context, ggml_tensor* x, std::int64_t n_out) {
    if (n_out == x->ne[1]) return x;
    const auto first = static_cast<std::size_t>(x->ne[1] - n_out);
    return ggml_view_2d(context, x, x->ne[0], n_out, x->nb[1], first * x->nb[1]);
}

ggml_tensor* last_entries(ggml_context* context, ggml_tensor* x, std::int64_t n) {
    if (n == x->ne[0]) return x;
    return ggml_view_1d(context, x, n, static_cast<std::size_t>(x->ne[0] - n) * x->nb[0]);
}

// Queries, keys and values before rotation, [head_width, heads, n] each.
class Projection {
   public:
    Projection(const DecoderGraph& graph, const BlockWeights& block) : g_(graph), block_(block) {}

    ggml_tensor* queries(ggml_tensor* x) { return slice(x, block_.q, block_.q_bias, 0, g_.config->n_heads); }
    ggml_tensor* keys(ggml_tensor* x) {
        return slice(x, block_.k, block_.k_bias, g_.config->n_heads, g_.config->n_kv_heads);
    }
    ggml_tensor* values(ggml_tensor* x) {
        return slice(x, block_.v, block_.v_bias, g_.config->n_heads + g_.config->n_kv_heads,
                     g_.config->n_kv_heads);
    }

   private:
    ggml_tensor* slice(ggml_tensor* x, ggml_tensor* weight, ggml_tensor* bias, std::int64_t first_head,
                       std::int64_t n_heads) {
        const std::int64_t head = g_.config->head_width;
        if (block_.qkv == nullptr) {
            return ggml_reshape_3d(g_.context, linear(g_.context, weight, bias, x), head, n_heads, x->ne[1]);
        }
        if (fused_input_ != x) {
            fused_input_ = x;
            fused_ = linear(g_.context, block_.qkv, block_.qkv_bias, x);
        }
        const auto head_bytes = static_cast<std::size_t>(head) * fused_->nb[0];
        return ggml_view_3d(g_.context, fused_, head, n_heads, x->ne[1], head_bytes, fused_->nb[1],
                            static_cast<std::size_t>(first_head) * head_bytes);
    }

    const DecoderGraph& g_;
    const BlockWeights& block_;
    ggml_tensor* fused_input_ = nullptr;
    ggml_tensor* fused_ = nullptr;
};

ggml_tensor* rotate(const DecoderGraph& g, ggml_tensor* x, ggml_tensor* positions) {
    const RopeConfig& rope = g.config->rope;
    return ggml_rope_ext(g.context, x, positions, g.weights->rope_factors, rope.n_dims, rope.mode,
                         rope.original_context, rope.freq_base, rope.freq_scale, rope.extrapolation,
                         rope.attention_factor, rope.beta_fast, rope.beta_slow);
}

// Copies rows [head_width, kv_heads, n] into cells from `first` on.
void store(const DecoderGraph& g, ggml_tensor* rows, ggml_tensor* cache, std::int64_t first) {
    ggml_tensor* cells = ggml_view_3d(g.context, cache, rows->ne[0], rows->ne[1], rows->ne[2],
                                      ggml_row_size(cache->type, rows->ne[0]), cache->nb[1],
                                      static_cast<std::size_t>(first) * cache->nb[1]);
    ggml_build_forward_expand(g.graph, ggml_cpy(g.context, rows, cells));
}

// The first n cells as [head_width, n, kv_heads].
ggml_tensor* cached(const DecoderGraph& g, ggml_tensor* cache, std::int64_t n) {
    const std::int64_t head = g.config->head_width;
    ggml_tensor* view = ggml_view_3d(g.context, cache, head, g.config->n_kv_heads, n,
                                     ggml_row_size(cache->type, head), cache->nb[1], 0);
    return ggml_permute(g.context, view, 0, 2, 1, 3);
}

ggml_tensor* feed_forward(const DecoderGraph& g, const BlockWeights& block, ggml_tensor* x) {
    ggml_tensor* normed = normalise(g, x, block.ffn_norm);
    ggml_tensor* up = linear(g.context, block.up, block.up_bias, normed);
    ggml_tensor* gate = linear(g.context, block.gate, block.gate_bias, normed);
    return linear(g.context, block.down, block.down_bias, ggml_swiglu_split(g.context, gate, up));
}

}  // namespace

ggml_tensor* build_block(const DecoderGraph& g, std::size_t layer, const BlockInput& input) {
    const BlockWeights& block = g.weights->blocks[layer];
    const std::int64_t n = input.hidden->ne[1];
    ggml_tensor* normed = normalise(g, input.hidden, block.attention_norm);
    Projection projection(g, block);
    const std::int64_t n_queries = input.n_out == 0 ? 0 : std::max(input.n_out, std::min(n, kPreciseQueries));
    ggml_tensor* q = nullptr;
    if (n_queries > 0) {
        q = rotate(g, projection.queries(last_rows(g.context, normed, n_queries)),
                   last_entries(g.context, input.positions, n_queries));
        ggml_build_forward_expand(g.graph, q);
    }
    store(g, projection.values(normed), input.values, input.n_past);
    store(g, rotate(g, projection.keys(normed), input.positions), input.keys, input.n_past);
    if (input.n_out == 0) return nullptr;

    ggml_tensor* attention = ggml_flash_attn_ext(
        g.context, ggml_permute(g.context, q, 0, 2, 1, 3), cached(g, input.keys, input.n_past + n),
        cached(g, input.values, input.n_past + n),
        input.mask != nullptr ? last_rows(g.context, input.mask, n_queries) : nullptr,
        g.config->attention_scale, 0.0F, 0.0F);
    ggml_prec_set_acc(attention, GGML_PREC_F32);
    attention = ggml_reshape_2d(g.context, attention, g.config->query_width(), n_queries);
    attention = last_rows(g.context, attention, input.n_out);
    ggml_tensor* mixed =
        ggml_add(g.context, linear(g.context, block.attention_out, block.attention_out_bias, attention),
                 last_rows(g.context, input.hidden, input.n_out));
    return ggml_add(g.context, feed_forward(g, block, mixed), mixed);
}

ggml_tensor* build_head(const DecoderGraph& g, ggml_tensor* hidden) {
    return linear(g.context, g.weights->head, g.weights->head_bias,
                  normalise(g, hidden, g.weights->output_norm));
}

ggml_tensor* build_final_norm(const DecoderGraph& g, ggml_tensor* hidden, ggml_tensor* rows) {
    ggml_tensor* normed = normalise(g, ggml_get_rows(g.context, hidden, rows), g.weights->output_norm);
    ggml_set_output(normed);
    ggml_build_forward_expand(g.graph, normed);
    return normed;
}

ProbeOutput build_probe(const DecoderGraph& g, std::size_t layer, const ProbeInput& input) {
    ggml_context* const c = g.context;
    const BlockWeights& block = g.weights->blocks[layer];
    const std::int64_t n = input.hidden->ne[1];
    const auto emit = [&](ggml_tensor* tensor) {
        ggml_set_output(tensor);
        ggml_build_forward_expand(g.graph, tensor);
        return tensor;
    };
    ProbeOutput output;
    ggml_tensor* normed = normalise(g, input.hidden, block.attention_norm);
    Projection projection(g, block);
    ggml_tensor* keys = rotate(g, projection.keys(normed), input.positions);
    if (input.wants_key_norms) {
        output.key_norms =
            emit(ggml_sum_rows(c, ggml_abs(c, ggml_reshape_2d(c, keys, g.config->kv_width(), n))));
    }
    if (!input.wants_mean && !input.wants_rows && !input.wants_heads) return output;

    ggml_tensor* queries =
        rotate(g, projection.queries(ggml_get_rows(c, normed, input.query_rows)), input.query_positions);
    const std::int64_t m = queries->ne[2];
    // [n, m, heads]; heads that share keys are broadcast.
    ggml_tensor* logits =
        ggml_mul_mat(c, ggml_permute(c, keys, 0, 2, 1, 3), ggml_permute(c, queries, 0, 2, 1, 3));
    ggml_prec_set_acc(logits, GGML_PREC_F32);
    ggml_tensor* probabilities = ggml_soft_max_ext(c, logits, input.mask, g.config->attention_scale, 0.0F);
    if (input.wants_mean) {
        ggml_tensor* flat = ggml_reshape_2d(c, probabilities, n, m * g.config->n_heads);
        output.mean = emit(ggml_mean(c, ggml_cont(c, ggml_transpose(c, flat))));
    }
    if (input.wants_heads) {
        output.heads = emit(probabilities);
        const auto rotated_ones = [&](std::int64_t count, ggml_tensor* positions) {
            ggml_tensor* ones = ggml_repeat_4d(c, input.ones, g.config->head_width, 1, count, 1);
            return ggml_permute(c, rotate(g, ones, positions), 0, 2, 1, 3);
        };
        ggml_tensor* products =
            ggml_mul_mat(c, rotated_ones(n, input.positions), rotated_ones(m, input.query_positions));
        output.rotation_bias = emit(ggml_scale(c, products, g.config->attention_scale));
    }
    if (input.wants_rows) {
        ggml_tensor* per_head = probabilities;
        if (input.rows_are_logits) {
            per_head = ggml_add(c, ggml_scale(c, logits, g.config->attention_scale), input.mask);
        }
        output.rows = emit(ggml_mean(c, ggml_cont(c, ggml_permute(c, per_head, 1, 2, 0, 3))));
    }
    return output;
}

}  // namespace clasp::model
