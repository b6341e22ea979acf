#include "model/relation_head.h"

#include "nn/kernels.h"

namespace clasp::training {

RelationHead::RelationHead(ParamStore& store, const ModelShape& shape)
    : width_(shape.width),
      norm_w_(store.add_constant("aux.relation_norm.weight", 1, shape.width, 1.0F)),
      head_(add_linear(store, "aux.relation", shape.width, 2, true, 0.5F)) {}

double RelationHead::run(ParamStore& store, const float* stream, const std::vector<RelationTarget>& targets,
                         float weight, float* gradient, Arena& arena) const {
    if (targets.empty()) return 0;
    const int count = static_cast<int>(targets.size());
    const std::size_t values = targets.size() * static_cast<std::size_t>(width_);
    std::vector<int> rows;
    for (const RelationTarget& target : targets) rows.push_back(target.row);
    float* x = arena.take(values);
    float* normed = arena.take(values);
    float* stats = arena.take(targets.size());
    float* out = arena.take(targets.size() * 2);
    gather_rows(stream, rows, width_, x);
    rms_norm(x, store.value(norm_w_), normed, stats, count, width_, kDecoderEpsilon);
    linear(store, head_, normed, out, count);
    double loss = 0;
    for (std::size_t i = 0; i < targets.size(); ++i)
        for (std::size_t k = 0; k < 2; ++k) {
            const float miss = out[2 * i + k] - targets[i].apart[k];
            loss += static_cast<double>(weight * miss * miss);
            out[2 * i + k] = 2 * weight * miss;
        }
    if (gradient == nullptr) return loss;
    float* d_normed = arena.take(values);
    float* d_x = arena.take_zeroed(values);
    linear_backward(store, head_, normed, out, d_normed, count);
    rms_norm_backward(x, store.value(norm_w_), stats, d_normed, d_x, store.grad(norm_w_), count, width_);
    scatter_rows(d_x, rows, width_, gradient);
    return loss;
}

}  // namespace clasp::training
