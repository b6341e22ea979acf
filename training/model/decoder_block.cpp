#include "model/decoder_block.h"

#include <algorithm>

#include "nn/kernels.h"

namespace clasp::training {

DecoderBlock::DecoderBlock(ParamStore& store, const std::string& prefix, const ModelShape& shape, float gain)
    : attention_{shape.width, shape.heads}, ffn_(shape.decoder_ffn) {
    const int d = shape.width;
    norm1_w_ = store.add_constant(prefix + ".attn_norm.weight", 1, d, 1.0F);
    qkv_ = add_linear(store, prefix + ".attn_qkv", d, 3 * d, false);
    out_ = add_linear(store, prefix + ".attn_output", d, d, false, gain);
    norm2_w_ = store.add_constant(prefix + ".ffn_norm.weight", 1, d, 1.0F);
    gate_up_ = add_linear(store, prefix + ".ffn_gate_up", d, 2 * ffn_, false);
    down_ = add_linear(store, prefix + ".ffn_down", ffn_, d, false, gain);
    store.use_muon(qkv_.weight, 3);
    store.use_muon(gate_up_.weight, 2);
    for (const Linear* layer : {&out_, &down_}) store.use_muon(layer->weight, 1);
}

float* DecoderBlock::forward(const ParamStore& store, const float* in, std::span<const int> positions,
                             std::span<const Sequence> sequences, std::span<const int> needed, Tape& tape,
                             Arena& arena) const {
    const int d = attention_.width;
    const auto width = static_cast<std::size_t>(d);
    const int rows = static_cast<int>(positions.size());
    const std::size_t stream = positions.size() * width;
    const bool all = needed.empty();
    const std::size_t kept = all ? positions.size() : needed.size();
    const int kept_rows = static_cast<int>(kept);
    const std::size_t wide = kept * static_cast<std::size_t>(ffn_);
    tape.in = in;
    tape.norm1 = arena.take(stream);
    tape.stats1 = arena.take(positions.size());
    tape.qkv = arena.take(3 * stream);
    tape.attended = arena.take(stream);
    tape.kept_attended = all ? tape.attended : arena.take(kept * width);
    tape.middle = arena.take(kept * width);
    tape.norm2 = arena.take(kept * width);
    tape.stats2 = arena.take(kept);
    tape.gate_up = arena.take(2 * wide);
    tape.active = arena.take(wide);
    float* out = arena.take(kept * width);

    rms_norm(in, store.value(norm1_w_), tape.norm1, tape.stats1, rows, d, kDecoderEpsilon);
    linear(store, qkv_, tape.norm1, tape.qkv, rows);
    rotate_pairs(tape.qkv, positions, d, attention_.head_width(), 1);
    attention(tape.qkv, tape.attended, sequences, attention_, tape.attention, arena);
    if (all) {
        std::copy_n(in, stream, tape.middle);
    } else {
        gather_rows(in, needed, d, tape.middle);
        gather_rows(tape.attended, needed, d, tape.kept_attended);
    }
    linear(store, out_, tape.kept_attended, tape.middle, kept_rows, true);

    rms_norm(tape.middle, store.value(norm2_w_), tape.norm2, tape.stats2, kept_rows, d, kDecoderEpsilon);
    linear(store, gate_up_, tape.norm2, tape.gate_up, kept_rows);
    swiglu(tape.gate_up, tape.active, kept_rows, ffn_);
    std::copy_n(tape.middle, kept * width, out);
    linear(store, down_, tape.active, out, kept_rows, true);
    return out;
}

float* DecoderBlock::backward(ParamStore& store, float* gradient, std::span<const int> positions,
                              std::span<const Sequence> sequences, std::span<const int> needed,
                              const Tape& tape, Arena& arena) const {
    const int d = attention_.width;
    const auto width = static_cast<std::size_t>(d);
    const int rows = static_cast<int>(positions.size());
    const std::size_t stream = positions.size() * width;
    const bool all = needed.empty();
    const std::size_t kept = all ? positions.size() : needed.size();
    const int kept_rows = static_cast<int>(kept);
    const std::size_t wide = kept * static_cast<std::size_t>(ffn_);
    float* d_in = all ? gradient : arena.take_zeroed(stream);
    const Arena::Mark mark = arena.mark();
    float* d_active = arena.take(wide);
    float* d_wide = arena.take(std::max(2 * wide, 3 * stream));
    float* d_stream = arena.take(stream);

    linear_backward(store, down_, tape.active, gradient, d_active, kept_rows);
    swiglu_backward(tape.gate_up, d_active, d_wide, kept_rows, ffn_);
    linear_backward(store, gate_up_, tape.norm2, d_wide, d_stream, kept_rows);
    rms_norm_backward(tape.middle, store.value(norm2_w_), tape.stats2, d_stream, gradient,
                      store.grad(norm2_w_), kept_rows, d);

    linear_backward(store, out_, tape.kept_attended, gradient, d_stream, kept_rows);
    float* d_attended = d_stream;
    if (!all) {
        d_attended = arena.take_zeroed(stream);
        scatter_rows(d_stream, needed, d, d_attended);
        scatter_rows(gradient, needed, d, d_in);
    }
    attention_backward(tape.qkv, tape.attended, d_attended, d_wide, sequences, attention_, tape.attention,
                       arena);
    rotate_pairs(d_wide, positions, d, attention_.head_width(), -1);
    linear_backward(store, qkv_, tape.norm1, d_wide, d_stream, rows);
    rms_norm_backward(tape.in, store.value(norm1_w_), tape.stats1, d_stream, d_in, store.grad(norm1_w_), rows,
                      d);
    arena.release(mark);
    return d_in;
}

}  // namespace clasp::training
