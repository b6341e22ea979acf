#include "model/vision_block.h"

#include <algorithm>

#include "nn/kernels.h"

namespace clasp::training {
namespace {

constexpr float kFrameWave = 0.25F;  // what the first block adds to the stream is carried through the others

}  // namespace

VisionBlock::VisionBlock(ParamStore& store, int number, const ModelShape& shape, float gain)
    : attention_{shape.width, shape.heads}, ffn_(shape.vision_ffn) {
    const std::string prefix = "v.blk." + std::to_string(number);
    const int d = shape.width;
    ln1_w_ = store.add_constant(prefix + ".ln1.weight", 1, d, 1.0F);
    ln1_b_ = store.add_constant(prefix + ".ln1.bias", 1, d, 0.0F);
    qkv_ = add_linear(store, prefix + ".attn_qkv", d, 3 * d, true);
    out_ = add_linear(store, prefix + ".attn_out", d, d, true, gain);
    ln2_w_ = store.add_constant(prefix + ".ln2.weight", 1, d, 1.0F);
    ln2_b_ = store.add_constant(prefix + ".ln2.bias", 1, d, 0.0F);
    fc1_ = add_linear(store, prefix + ".fc1", d, ffn_, true);
    fc2_ = add_linear(store, prefix + ".fc2", ffn_, d, true, gain);
    // Keys start equal to queries, so that a patch first looks at patches like itself: near ones, since
    // the positions of neighbours are alike. Small towers learn shapes much sooner this way.
    float* weights = store.value(qkv_.weight);
    std::copy_n(weights, d * d, weights + d * d);
    store.use_muon(qkv_.weight, 3);
    for (const Linear* layer : {&out_, &fc1_, &fc2_}) store.use_muon(layer->weight, 1);
    if (shape.frames > 1) temporal_.emplace(store, "v" + prefix, shape, number == 0 ? kFrameWave : 0.0F);
}

float* VisionBlock::forward(const ParamStore& store, const float* in, int rows,
                            std::span<const Sequence> sequences, const FrameLayout& layout, Tape& tape,
                            Arena& arena) const {
    if (temporal_ && layout.frames > 1) in = temporal_->forward(store, in, layout, tape.temporal, arena);
    const int d = attention_.width;
    const auto n = static_cast<std::size_t>(rows);
    const std::size_t stream = n * static_cast<std::size_t>(d);
    const std::size_t wide = n * static_cast<std::size_t>(ffn_);
    tape.in = in;
    tape.norm1 = arena.take(stream);
    tape.stats1 = arena.take(2 * n);
    tape.qkv = arena.take(3 * stream);
    tape.attended = arena.take(stream);
    tape.middle = arena.take(stream);
    tape.norm2 = arena.take(stream);
    tape.stats2 = arena.take(2 * n);
    tape.hidden = arena.take(wide);
    tape.active = arena.take(wide);
    float* out = arena.take(stream);

    layer_norm(in, store.value(ln1_w_), store.value(ln1_b_), tape.norm1, tape.stats1, rows, d,
               kVisionEpsilon);
    linear(store, qkv_, tape.norm1, tape.qkv, rows);
    attention(tape.qkv, tape.attended, sequences, attention_, tape.attention, arena);
    std::copy_n(in, stream, tape.middle);
    linear(store, out_, tape.attended, tape.middle, rows, true);

    layer_norm(tape.middle, store.value(ln2_w_), store.value(ln2_b_), tape.norm2, tape.stats2, rows, d,
               kVisionEpsilon);
    linear(store, fc1_, tape.norm2, tape.hidden, rows);
    quick_gelu(tape.hidden, tape.active, wide);
    std::copy_n(tape.middle, stream, out);
    linear(store, fc2_, tape.active, out, rows, true);
    return out;
}

void VisionBlock::backward(ParamStore& store, float* gradient, int rows, std::span<const Sequence> sequences,
                           const FrameLayout& layout, const Tape& tape, Arena& arena) const {
    const int d = attention_.width;
    const auto n = static_cast<std::size_t>(rows);
    const std::size_t stream = n * static_cast<std::size_t>(d);
    const std::size_t wide = n * static_cast<std::size_t>(ffn_);
    float* d_wide = arena.take(std::max(wide, 3 * stream));
    float* d_stream = arena.take(stream);

    linear_backward(store, fc2_, tape.active, gradient, d_wide, rows);
    quick_gelu_backward(tape.hidden, d_wide, wide);
    linear_backward(store, fc1_, tape.norm2, d_wide, d_stream, rows);
    layer_norm_backward(tape.middle, store.value(ln2_w_), tape.stats2, d_stream, gradient, store.grad(ln2_w_),
                        store.grad(ln2_b_), rows, d);

    linear_backward(store, out_, tape.attended, gradient, d_stream, rows);
    attention_backward(tape.qkv, tape.attended, d_stream, d_wide, sequences, attention_, tape.attention,
                       arena);
    linear_backward(store, qkv_, tape.norm1, d_wide, d_stream, rows);
    layer_norm_backward(tape.in, store.value(ln1_w_), tape.stats1, d_stream, gradient, store.grad(ln1_w_),
                        store.grad(ln1_b_), rows, d);
    if (temporal_ && layout.frames > 1) temporal_->backward(store, gradient, layout, tape.temporal, arena);
}

}  // namespace clasp::training
