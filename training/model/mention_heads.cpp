#include "model/mention_heads.h"

#include <algorithm>

#include "nn/kernels.h"

namespace clasp::training {
namespace {

constexpr int mention_outputs() {
    int total = 0;
    for (const MentionGroup& group : kMentionGroups) total += group.classes;
    return total + static_cast<int>(kNumberGroups.size());
}
constexpr int kOutputs = mention_outputs();

}  // namespace

MentionHeads::MentionHeads(ParamStore& store, const std::string& name, const ModelShape& shape)
    : width_(shape.width),
      norm_w_(store.add_constant("aux." + name + "_norm.weight", 1, shape.width, 1.0F)),
      head_(add_linear(store, "aux." + name, shape.width, kOutputs, true, 0.5F)) {}

void MentionHeads::run(ParamStore& store, const float* stream, const std::vector<MentionTarget>& targets,
                       float weight, float* gradient, MentionScores& scores, Arena& arena) const {
    if (targets.empty()) return;
    const int count = static_cast<int>(targets.size());
    const std::size_t values = targets.size() * static_cast<std::size_t>(width_);
    std::vector<int> rows;
    for (const MentionTarget& target : targets) rows.push_back(target.row);
    float* x = arena.take(values);
    float* normed = arena.take(values);
    float* stats = arena.take(targets.size());
    float* logits = arena.take(targets.size() * kOutputs);
    gather_rows(stream, rows, width_, x);
    rms_norm(x, store.value(norm_w_), normed, stats, count, width_, kDecoderEpsilon);
    linear(store, head_, normed, logits, count);
    for (std::size_t i = 0; i < targets.size(); ++i) {
        float* at = logits + i * kOutputs;
        for (std::size_t g = 0; g < kMentionGroups.size(); at += kMentionGroups[g++].classes) {
            const MentionGroup& group = kMentionGroups[g];
            const std::uint8_t label = targets[i].labels[g];
            if (label == kNotAsked) {
                std::fill_n(at, group.classes, 0.0F);
                continue;
            }
            ++scores.trials[g];
            scores.hits[g] += std::max_element(at, at + group.classes) - at == label;
            const float share = weight * group.weight;
            scores.loss += static_cast<double>(share * softmax_loss(at, group.classes, label));
            at[label] -= 1.0F;
            for (int c = 0; c < group.classes; ++c) at[c] *= share;
        }
        for (const std::size_t g : kNumberGroups) {
            const std::uint8_t label = targets[i].labels[g];
            const float half = static_cast<float>(kMentionGroups[g].classes - 1) / 2;
            const float miss = label == kNotAsked ? 0.0F : *at - (static_cast<float>(label) / half - 1);
            scores.loss += static_cast<double>(weight * kNumberWeight * miss * miss);
            *at++ = 2 * weight * kNumberWeight * miss;
        }
    }
    if (gradient == nullptr) return;
    float* d_normed = arena.take(values);
    float* d_x = arena.take_zeroed(values);
    linear_backward(store, head_, normed, logits, d_normed, count);
    rms_norm_backward(x, store.value(norm_w_), stats, d_normed, d_x, store.grad(norm_w_), count, width_);
    scatter_rows(d_x, rows, width_, gradient);
}

}  // namespace clasp::training
