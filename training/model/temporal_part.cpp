#include "model/temporal_part.h"

#include <algorithm>
#include <cmath>

#include "nn/kernels.h"

namespace clasp::training {
namespace {

void fill_frame_waves(float* table, int frames, int width, float height) {
    for (int frame = 0; frame < frames; ++frame)
        for (int i = 0; i < width / 2; ++i) {
            const float frequency =
                1.5F * std::pow(0.05F, 2.0F * static_cast<float>(i) / static_cast<float>(width));
            const float phase = static_cast<float>(frame) * frequency;
            table[frame * width + 2 * i] = height * std::sin(phase);
            table[frame * width + 2 * i + 1] = height * std::cos(phase);
        }
}

}  // namespace

TemporalPart::TemporalPart(ParamStore& store, const std::string& prefix, const ModelShape& shape, float wave)
    : attention_{shape.width, shape.heads} {
    const int d = shape.width;
    embedding_ = store.add_constant(prefix + ".t_embd", shape.frames, d, 0.0F);
    fill_frame_waves(store.value(embedding_), shape.frames, d, wave);
    norm_w_ = store.add_constant(prefix + ".t_ln.weight", 1, d, 1.0F);
    norm_b_ = store.add_constant(prefix + ".t_ln.bias", 1, d, 0.0F);
    qkv_ = add_linear(store, prefix + ".t_attn_qkv", d, 3 * d, true);
    out_ = add_linear(store, prefix + ".t_attn_out", d, d, true, 0.0F);
    store.use_muon(qkv_.weight, 3);
    store.use_muon(out_.weight, 1);
}

float* TemporalPart::forward(const ParamStore& store, const float* in, const FrameLayout& layout, Tape& tape,
                             Arena& arena) const {
    const int d = attention_.width;
    const int rows = layout.rows();
    const std::size_t stream = static_cast<std::size_t>(rows) * static_cast<std::size_t>(d);
    tape.middle = arena.take(stream);
    tape.norm = arena.take(stream);
    tape.stats = arena.take(2 * static_cast<std::size_t>(rows));
    tape.qkv = arena.take(3 * stream);
    tape.attended = arena.take(stream);
    float* out = arena.take(stream);
    const float* table = store.value(embedding_);
    for (int row = 0; row < rows; ++row) {
        const float* frame = table + row / layout.places % layout.frames * d;
        const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(row) * d;
        for (int i = 0; i < d; ++i) tape.middle[at + i] = in[at + i] + frame[i];
    }
    layer_norm(tape.middle, store.value(norm_w_), store.value(norm_b_), tape.norm, tape.stats, rows, d,
               kVisionEpsilon);
    linear(store, qkv_, tape.norm, tape.qkv, rows);
    tape.probabilities = frame_attention(tape.qkv, tape.attended, layout, attention_, arena);
    std::copy_n(tape.middle, stream, out);
    linear(store, out_, tape.attended, out, rows, true);
    return out;
}

void TemporalPart::backward(ParamStore& store, float* gradient, const FrameLayout& layout, const Tape& tape,
                            Arena& arena) const {
    const int d = attention_.width;
    const int rows = layout.rows();
    const std::size_t stream = static_cast<std::size_t>(rows) * static_cast<std::size_t>(d);
    float* d_stream = arena.take(stream);
    float* d_qkv = arena.take(3 * stream);
    linear_backward(store, out_, tape.attended, gradient, d_stream, rows);
    frame_attention_backward(tape.qkv, tape.probabilities, d_stream, d_qkv, layout, attention_);
    linear_backward(store, qkv_, tape.norm, d_qkv, d_stream, rows);
    layer_norm_backward(tape.middle, store.value(norm_w_), tape.stats, d_stream, gradient,
                        store.grad(norm_w_), store.grad(norm_b_), rows, d);
    float* d_table = store.grad(embedding_);
    for (int row = 0; row < rows; ++row)
        add(d_table + row / layout.places % layout.frames * d,
            gradient + static_cast<std::ptrdiff_t>(row) * d, static_cast<std::size_t>(d));
}

}  // namespace clasp::training
