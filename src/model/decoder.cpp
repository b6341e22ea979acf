#include "model/decoder.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "model/cached_attention.h"
#include "model/decoder_products.h"

namespace clasp::model {
namespace {

// A product whose input no other one shares.
ggml_tensor* linear(const DecoderGraph& g, ggml_tensor* weight, ggml_tensor* bias, ggml_tensor* x) {
    return DecoderProducts(g.context, *g.weights).linear(weight, bias, x);
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

// The last n of each plane of positions [planes * all].
ggml_tensor* last_positions(ggml_context* context, ggml_tensor* x, std::int64_t n, std::int64_t n_planes) {
    const std::int64_t all = x->ne[0] / n_planes;
    if (n == all) return x;
    const std::size_t first = static_cast<std::size_t>(all - n) * x->nb[0];
    if (n_planes == 1) return ggml_view_1d(context, x, n, first);
    const std::size_t plane_bytes = static_cast<std::size_t>(all) * x->nb[0];
    ggml_tensor* planes = ggml_view_2d(context, x, n, n_planes, plane_bytes, first);
    return ggml_reshape_1d(context, ggml_cont(context, planes), n_planes * n);
}

// Rows first ... first + n - 1 of x [head_width, heads, rows].
ggml_tensor* head_rows(ggml_context* context, ggml_tensor* x, std::int64_t first, std::int64_t n) {
    if (n == x->ne[2]) return x;
    return ggml_view_3d(context, x, x->ne[0], x->ne[1], n, x->nb[1], x->nb[2],
                        static_cast<std::size_t>(first) * x->nb[2]);
}

// Queries, keys and values before rotation, [head_width, heads, n] each.
class Projection {
   public:
    Projection(const DecoderGraph& graph, const BlockWeights& block)
        : g_(graph), block_(block), products_(graph.context, *graph.weights) {}

    ggml_tensor* queries(ggml_tensor* x) {
        return normed(slice(x, block_.q, block_.q_bias, 0, g_.config->n_heads), block_.q_norm);
    }
    ggml_tensor* keys(ggml_tensor* x) {
        return normed(slice(x, block_.k, block_.k_bias, g_.config->n_heads, g_.config->n_kv_heads),
                      block_.k_norm);
    }
    ggml_tensor* values(ggml_tensor* x) {
        return slice(x, block_.v, block_.v_bias, g_.config->n_heads + g_.config->n_kv_heads,
                     g_.config->n_kv_heads);
    }

   private:
    // Head by head.
    ggml_tensor* normed(ggml_tensor* heads, ggml_tensor* weight) {
        return weight != nullptr ? normalise(g_, heads, weight) : heads;
    }

    ggml_tensor* slice(ggml_tensor* x, ggml_tensor* weight, ggml_tensor* bias, std::int64_t first_head,
                       std::int64_t n_heads) {
        const std::int64_t head = g_.config->head_width;
        if (block_.qkv == nullptr) {
            return ggml_reshape_3d(g_.context, products_.linear(weight, bias, x), head, n_heads, x->ne[1]);
        }
        if (fused_input_ != x) {
            fused_input_ = x;
            fused_ = products_.linear(block_.qkv, block_.qkv_bias, x);
        }
        const auto head_bytes = static_cast<std::size_t>(head) * fused_->nb[0];
        return ggml_view_3d(g_.context, fused_, head, n_heads, x->ne[1], head_bytes, fused_->nb[1],
                            static_cast<std::size_t>(first_head) * head_bytes);
    }

    const DecoderGraph& g_;
    const BlockWeights& block_;
    DecoderProducts products_;
    ggml_tensor* fused_input_ = nullptr;
    ggml_tensor* fused_ = nullptr;
};

ggml_tensor* rotate(const DecoderGraph& g, std::size_t layer, ggml_tensor* x, ggml_tensor* positions) {
    const RopeConfig& rope = g.config->rope_of(layer);
    if (rope.n_planes() == 1) {
        return ggml_rope_ext(g.context, x, positions, g.rope_factors, rope.n_dims, rope.mode(),
                             rope.original_context, rope.freq_base, rope.freq_scale, rope.extrapolation,
                             rope.attention_factor, rope.beta_fast, rope.beta_slow);
    }
    std::array<int, GGML_MROPE_SECTIONS> sections = {};
    std::copy(rope.sections.begin(), rope.sections.end(), sections.begin());
    return ggml_rope_multi(g.context, x, positions, g.rope_factors, rope.n_dims, sections.data(), rope.mode(),
                           rope.original_context, rope.freq_base, rope.freq_scale, rope.extrapolation,
                           rope.attention_factor, rope.beta_fast, rope.beta_slow);
}

// x becomes cap tanh(scale x / cap), or scale x without a cap.
ggml_tensor* scale_and_cap(ggml_context* context, ggml_tensor* x, float scale, float cap) {
    if (cap == 0.0F) return ggml_scale(context, x, scale);
    return ggml_scale(context, ggml_tanh(context, ggml_scale(context, x, scale / cap)), cap);
}

// Copies rows [head_width, kv_heads, n] into cells from `first` on.
void store(const DecoderGraph& g, ggml_tensor* rows, ggml_tensor* cache, std::int64_t first) {
    ggml_tensor* cells = ggml_view_3d(g.context, cache, rows->ne[0], rows->ne[1], rows->ne[2],
                                      ggml_row_size(cache->type, rows->ne[0]), cache->nb[1],
                                      static_cast<std::size_t>(first) * cache->nb[1]);
    ggml_build_forward_expand(g.graph, ggml_cpy(g.context, rows, cells));
}

// The first n cells as [head_width, n, kv_heads / n_groups, n_groups].
ggml_tensor* cached(const DecoderGraph& g, ggml_tensor* cache, std::int64_t n, std::int64_t n_groups) {
    const std::int64_t head = g.config->head_width;
    const std::int64_t in_group = g.config->n_kv_heads / n_groups;
    const std::size_t head_bytes = ggml_row_size(cache->type, head);
    ggml_tensor* view = ggml_view_4d(g.context, cache, head, in_group, n_groups, n, head_bytes,
                                     head_bytes * static_cast<std::size_t>(in_group), cache->nb[1], 0);
    return ggml_permute(g.context, view, 0, 2, 3, 1);
}

// Few rows are left to ggml: a single one reads every key once, and short prompts get llama.cpp's numbers.
bool has_own_attention(const DecoderGraph& g, const CachedRows& sequence) {
    return g.weights->has_own_attention && sequence.n >= kPreciseQueries;
}

// Attention of the queries [head_width, heads, n_queries] to the first n_keys cells: n_queries rows of all
// heads. Where ggml does it: for a single query ggml's CPU backend would divide the keys among its threads
// and add up what they found, so that rounding depended on their number. It does so only for one row in one
// group of heads, so a single query is given as two groups or, where key heads are no even number, twice.
ggml_tensor* attend(const DecoderGraph& g, ggml_tensor* q, const CachedRows& sequence, ggml_tensor* mask) {
    ggml_context* const c = g.context;
    const std::int64_t n_keys = sequence.n_past + sequence.n;
    if (has_own_attention(g, sequence)) {
        return build_cached_attention(c, *g.config, q, sequence.keys, sequence.values, n_keys, mask);
    }
    const std::int64_t n_queries = q->ne[2];
    const std::int64_t n_groups = n_queries == 1 && g.config->n_kv_heads % 2 == 0 ? 2 : 1;
    const bool is_doubled = n_queries == 1 && n_groups == 1;
    if (is_doubled) {
        q = ggml_concat(c, q, q, 2);
        if (mask != nullptr) mask = ggml_concat(c, mask, mask, 1);
    }
    ggml_tensor* grouped =
        ggml_reshape_4d(c, q, g.config->head_width, g.config->n_heads / n_groups, n_groups, q->ne[2]);
    ggml_tensor* attention = ggml_flash_attn_ext(c, ggml_permute(c, grouped, 0, 2, 3, 1),
                                                 cached(g, sequence.keys, n_keys, n_groups),
                                                 cached(g, sequence.values, n_keys, n_groups), mask,
                                                 g.config->attention_scale, 0.0F, g.config->attention_cap);
    ggml_prec_set_acc(attention, GGML_PREC_F32);
    attention = ggml_reshape_2d(c, attention, g.config->query_width(), q->ne[2]);
    return is_doubled ? last_rows(c, attention, 1) : attention;
}

// What attention needs of all rows together: keys and values go to the cells of their sequences, and the
// rotated queries [head_width, heads, n_queries] of the last rows are returned; null if there are none.
ggml_tensor* project_and_store(const DecoderGraph& g, std::size_t layer, const BlockRows& input,
                               std::int64_t n_queries) {
    const BlockWeights& block = g.weights->blocks[layer];
    ggml_tensor* normed = normalise(g, input.hidden, block.attention_norm);
    Projection projection(g, block);
    ggml_tensor* queries = nullptr;
    if (n_queries > 0) {
        const auto n_planes = static_cast<std::int64_t>(g.config->rope.n_planes());
        queries = rotate(g, layer, projection.queries(last_rows(g.context, normed, n_queries)),
                         last_positions(g.context, input.positions, n_queries, n_planes));
        ggml_build_forward_expand(g.graph, queries);
    }
    const auto store_all = [&](ggml_tensor* rows, ggml_tensor* CachedRows::*cache) {
        std::int64_t first = 0;
        for (const CachedRows& sequence : input.sequences) {
            store(g, head_rows(g.context, rows, first, sequence.n), sequence.*cache, sequence.n_past);
            first += sequence.n;
        }
    };
    store_all(projection.values(normed), &CachedRows::values);
    store_all(rotate(g, layer, projection.keys(normed), input.positions), &CachedRows::keys);
    return queries;
}

// Attention of the queries to the cells of their own sequence: [query_width, n_queries].
ggml_tensor* attend_within(const DecoderGraph& g, const BlockRows& input, ggml_tensor* queries) {
    ggml_context* const c = g.context;
    if (input.sequences.size() == 1) {
        const CachedRows& only = input.sequences.front();
        ggml_tensor* mask = only.mask != nullptr ? last_rows(c, only.mask, queries->ne[2]) : nullptr;
        return attend(g, queries, only, mask);
    }
    // What a sequence finds takes the place of its queries, which nobody else reads: so the rows of all are
    // together again without a copy of those before.
    ggml_tensor* together = ggml_reshape_2d(c, queries, g.config->query_width(), queries->ne[2]);
    std::int64_t first = 0;
    for (const CachedRows& sequence : input.sequences) {
        ggml_tensor* found = attend(g, head_rows(c, queries, first, sequence.n), sequence, sequence.mask);
        ggml_tensor* place = ggml_view_2d(c, together, together->ne[0], sequence.n, together->nb[1],
                                          static_cast<std::size_t>(first) * together->nb[1]);
        ggml_build_forward_expand(g.graph, ggml_cpy(c, found, place));
        first += sequence.n;
    }
    return together;
}

// Gate and up as one matrix give both, gate first.
ggml_tensor* gated(const DecoderGraph& g, const BlockWeights& block, ggml_tensor* x) {
    const bool is_silu = g.config->family->activation == GateActivation::Silu;
    const ggml_glu_op op = is_silu ? GGML_GLU_OP_SWIGLU : GGML_GLU_OP_GEGLU;
    DecoderProducts products(g.context, *g.weights);
    ggml_tensor* up = products.linear(block.up, block.up_bias, x);
    if (block.gate == nullptr) return ggml_glu(g.context, up, op, false);
    return ggml_glu_split(g.context, products.linear(block.gate, block.gate_bias, x), up, op);
}

ggml_tensor* feed_forward(const DecoderGraph& g, const BlockWeights& block, ggml_tensor* x) {
    ggml_tensor* inner = gated(g, block, normalise(g, x, block.ffn_norm));
    ggml_tensor* out = linear(g, block.down, block.down_bias, inner);
    return block.ffn_post_norm != nullptr ? normalise(g, out, block.ffn_post_norm) : out;
}

}  // namespace

ggml_tensor* rope_factors_for(const TextConfig& config, const TextWeights& weights,
                              std::int64_t n_positions) {
    if (weights.rope_factors != nullptr) return weights.rope_factors;
    return n_positions > config.rope.original_context ? weights.long_rope_factors
                                                      : weights.short_rope_factors;
}

ggml_tensor* build_embedding(const DecoderGraph& g, ggml_tensor* ids) {
    ggml_tensor* rows = ggml_get_rows(g.context, g.weights->token_embedding, ids);
    const float scale = g.config->embedding_scale;
    return scale != 1.0F ? ggml_scale(g.context, rows, scale) : rows;
}

ggml_tensor* build_block(const DecoderGraph& g, std::size_t layer, const BlockRows& input) {
    const BlockWeights& block = g.weights->blocks[layer];
    const std::int64_t n = input.hidden->ne[1];
    CLASP_CHECK(input.sequences.size() == 1 || input.n_out == n);
    const bool takes_more = input.n_out > 0 && !has_own_attention(g, input.sequences.front());
    const std::int64_t n_queries =
        takes_more ? std::max(input.n_out, std::min(n, kPreciseQueries)) : input.n_out;
    ggml_tensor* queries = project_and_store(g, layer, input, n_queries);
    if (queries == nullptr) return nullptr;
    ggml_tensor* attention = last_rows(g.context, attend_within(g, input, queries), input.n_out);
    ggml_tensor* attended = linear(g, block.attention_out, block.attention_out_bias, attention);
    if (block.attention_post_norm != nullptr) attended = normalise(g, attended, block.attention_post_norm);
    ggml_tensor* mixed = ggml_add(g.context, attended, last_rows(g.context, input.hidden, input.n_out));
    return ggml_add(g.context, feed_forward(g, block, mixed), mixed);
}

ggml_tensor* build_head(const DecoderGraph& g, ggml_tensor* hidden) {
    ggml_tensor* logits =
        linear(g, g.weights->head, g.weights->head_bias, normalise(g, hidden, g.weights->output_norm));
    const float cap = g.config->final_cap;
    return cap != 0.0F ? scale_and_cap(g.context, logits, 1.0F, cap) : logits;
}

ggml_tensor* build_final_norm(const DecoderGraph& g, ggml_tensor* hidden, ggml_tensor* rows) {
    ggml_tensor* normed = normalise(g, ggml_get_rows(g.context, hidden, rows), g.weights->output_norm);
    ggml_set_output(normed);
    ggml_build_forward_expand(g.graph, normed);
    return normed;
}

std::vector<ProbedSignal> build_probe(const DecoderGraph& g, std::size_t layer, const ProbeInput& input,
                                      const methods::StageNeeds& needs) {
    using methods::StageSignals;
    using Join = ProbedSignal::Join;
    using Rows = methods::StageNeeds::Rows;
    ggml_context* const c = g.context;
    const BlockWeights& block = g.weights->blocks[layer];
    const std::int64_t n = input.hidden->ne[1];
    std::vector<ProbedSignal> seen;
    const auto emit = [&](const ProbedSignal& signal) {
        ggml_set_output(signal.values);
        ggml_build_forward_expand(g.graph, signal.values);
        seen.push_back(signal);
    };
    ggml_tensor* normed = normalise(g, input.hidden, block.attention_norm);
    Projection projection(g, block);
    ggml_tensor* keys = rotate(g, layer, projection.keys(normed), input.positions);
    if (needs.key_norms) {
        ggml_tensor* norms = ggml_sum_rows(c, ggml_abs(c, ggml_reshape_2d(c, keys, g.config->kv_width(), n)));
        emit({&StageSignals::key_norms, norms});
    }
    if (!needs.asks_attention() || input.query_rows == nullptr) return seen;

    ggml_tensor* queries = rotate(g, layer, projection.queries(ggml_get_rows(c, normed, input.query_rows)),
                                  input.query_positions);
    const std::int64_t m = queries->ne[2];
    // [n, m, heads]; heads that share keys are broadcast.
    ggml_tensor* logits =
        ggml_mul_mat(c, ggml_permute(c, keys, 0, 2, 1, 3), ggml_permute(c, queries, 0, 2, 1, 3));
    ggml_prec_set_acc(logits, GGML_PREC_F32);
    const float scale = g.config->attention_scale;
    const float cap = g.config->attention_cap;
    ggml_tensor* probabilities =
        cap == 0.0F ? ggml_soft_max_ext(c, logits, input.mask, scale, 0.0F)
                    : ggml_soft_max_ext(c, scale_and_cap(c, logits, scale, cap), input.mask, 1.0F, 0.0F);
    if (needs.scores) {
        ggml_tensor* flat = ggml_reshape_2d(c, probabilities, n, m * g.config->n_heads);
        emit({&StageSignals::scores, ggml_mean(c, ggml_cont(c, ggml_transpose(c, flat))), Join::Mean});
    }
    const auto mean_over_heads = [&](ggml_tensor* per_head) {
        return ggml_mean(c, ggml_cont(c, ggml_permute(c, per_head, 1, 2, 0, 3)));
    };
    if (needs.rows == Rows::Probabilities) {
        emit({&StageSignals::rows, mean_over_heads(probabilities), Join::Append});
    }
    if (needs.rows == Rows::Logits) {
        ggml_tensor* masked = ggml_add(c, scale_and_cap(c, logits, scale, cap), input.mask);
        emit({&StageSignals::rows, mean_over_heads(masked), Join::Append});
    }
    if (needs.rows == Rows::PerHead) {
        emit({&StageSignals::rows, probabilities, Join::Append, static_cast<std::size_t>(g.config->n_heads)});
        ggml_tensor* one = ggml_scale_bias(c, ggml_arange(c, 0.0F, 1.0F, 1.0F), 0.0F, 1.0F);
        const auto rotated_ones = [&](std::int64_t count, ggml_tensor* positions) {
            ggml_tensor* ones = ggml_repeat_4d(c, one, g.config->head_width, 1, count, 1);
            return ggml_permute(c, rotate(g, layer, ones, positions), 0, 2, 1, 3);
        };
        ggml_tensor* products =
            ggml_mul_mat(c, rotated_ones(n, input.positions), rotated_ones(m, input.query_positions));
        emit({&StageSignals::rotation_bias, ggml_scale(c, products, scale), Join::Append});
    }
    return seen;
}

}  // namespace clasp::model
