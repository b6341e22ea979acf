#include "model/aux_heads.h"

#include <algorithm>
#include <cmath>

#include "nn/kernels.h"

namespace clasp::training {
namespace {

constexpr int patch_outputs() {
    int total = 0;
    for (const AuxGroup& group : kAuxGroups) total += group.classes;
    return total;
}
constexpr int kPatchOutputs = patch_outputs();
constexpr int kClassOutputs = world::kPlaces + world::kSkies + world::kThingLabels;
constexpr float kPictureWeight = 0.5F;
constexpr float kPresenceWeight = 2.0F;

int best_of(const float* values, int count) {
    return static_cast<int>(std::max_element(values, values + count) - values);
}

}  // namespace

AuxHeads::AuxHeads(ParamStore& store, const ModelShape& shape)
    : width_(shape.width),
      patch_head_(add_linear(store, "aux.patch", shape.width, kPatchOutputs, true, 0.5F)),
      class_head_(add_linear(store, "aux.class", shape.width, kClassOutputs, true, 0.5F)) {}

void AuxHeads::run(ParamStore& store, const float* features, const AuxTargets& targets, float share,
                   float* gradient, AuxScores& scores, Arena& arena) const {
    const int area = targets.side * targets.side;
    const auto width = static_cast<std::size_t>(width_);
    const int patches = targets.pictures * area;
    const auto count = static_cast<std::size_t>(patches);
    float* rows = arena.take(count * width);
    float* class_rows = arena.take(static_cast<std::size_t>(targets.pictures) * width);
    for (int p = 0; p < targets.pictures; ++p) {
        const float* from = features + static_cast<std::size_t>(p * (area + 1)) * width;
        std::copy_n(from, width, class_rows + static_cast<std::size_t>(p) * width);
        std::copy_n(from + width, static_cast<std::size_t>(area) * width,
                    rows + static_cast<std::size_t>(p * area) * width);
    }

    float* logits = arena.take(count * kPatchOutputs);
    linear(store, patch_head_, rows, logits, patches);
    int offset = 0;
    for (std::size_t g = 0; g < kAuxGroups.size(); ++g) {
        const AuxGroup& group = kAuxGroups[g];
        if (g >= kClipGroup && targets.frames == 1) {
            for (std::size_t i = 0; i < count; ++i)
                std::fill_n(logits + i * kPatchOutputs + offset, group.classes, 0.0F);
            offset += group.classes;
            continue;
        }
        float total = 1e-6F;
        for (const auto& labels : targets.patches) total += labels[g] == 0 ? group.none_weight : 1;
        for (std::size_t i = 0; i < count; ++i) {
            float* values = logits + i * kPatchOutputs + offset;
            const int label = targets.patches[i][g];
            if (label != 0 || group.none_weight == 1.0F) {
                ++scores.trials[g];
                scores.hits[g] += best_of(values, group.classes) == label;
            }
            const float weight = (label == 0 ? group.none_weight : 1.0F) / total * group.weight * share;
            scores.loss += static_cast<double>(weight * softmax_loss(values, group.classes, label));
            values[label] -= 1.0F;
            for (int c = 0; c < group.classes; ++c) values[c] *= weight;
        }
        offset += group.classes;
    }
    float* d_rows = arena.take(count * width);
    linear_backward(store, patch_head_, rows, logits, d_rows, patches);

    float* class_logits = arena.take(static_cast<std::size_t>(targets.pictures) * kClassOutputs);
    linear(store, class_head_, class_rows, class_logits, targets.pictures);
    const float weight = kPictureWeight * share / static_cast<float>(targets.pictures);
    for (int p = 0; p < targets.pictures; ++p) {
        const auto at = static_cast<std::size_t>(p);
        float* values = class_logits + at * kClassOutputs;
        const int labels[2] = {targets.place[at], targets.sky[at]};
        const int classes[2] = {world::kPlaces, world::kSkies};
        for (std::size_t k = 0; k < 2; ++k) {
            ++scores.trials[kAuxGroups.size() + k];
            scores.hits[kAuxGroups.size() + k] += best_of(values, classes[k]) == labels[k];
            scores.loss += static_cast<double>(weight * softmax_loss(values, classes[k], labels[k]));
            values[labels[k]] -= 1.0F;
            for (int c = 0; c < classes[k]; ++c) values[c] *= weight;
            values += classes[k];
        }
        const float presence = kPresenceWeight * weight / world::kThingLabels;
        for (int c = 0; c < world::kThingLabels; ++c) {
            const float truth = targets.present[at][static_cast<std::size_t>(c)];
            const float p1 = 1.0F / (1.0F + std::exp(-values[c]));
            scores.loss -= static_cast<double>(presence * std::log(std::max(truth > 0 ? p1 : 1 - p1, 1e-7F)));
            values[c] = presence * (p1 - truth);
        }
    }
    float* d_class = arena.take(static_cast<std::size_t>(targets.pictures) * width);
    linear_backward(store, class_head_, class_rows, class_logits, d_class, targets.pictures);

    for (int p = 0; p < targets.pictures; ++p) {
        float* to = gradient + static_cast<std::size_t>(p * (area + 1)) * width;
        add(to, d_class + static_cast<std::size_t>(p) * width, width);
        add(to + width, d_rows + static_cast<std::size_t>(p * area) * width,
            static_cast<std::size_t>(area) * width);
    }
}

}  // namespace clasp::training
