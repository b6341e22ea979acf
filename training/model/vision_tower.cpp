#include "model/vision_tower.h"

#include <algorithm>
#include <cmath>

#include "nn/gemm.h"
#include "nn/kernels.h"

namespace clasp::training {
namespace {

// Learned positions start as waves over rows and columns, which makes neighbours alike.
void fill_waves(float* table, int grid, int width) {
    const int quarter = width / 4;
    for (int row = 0; row < grid; ++row)
        for (int column = 0; column < grid; ++column) {
            float* out = table + static_cast<std::size_t>((1 + row * grid + column) * width);
            for (int i = 0; i < quarter; ++i) {
                const float frequency =
                    std::pow(100.0F, -static_cast<float>(i) / static_cast<float>(quarter)) * 1.5F;
                const float y = static_cast<float>(row) * frequency;
                const float x = static_cast<float>(column) * frequency;
                out[4 * i] = 0.5F * std::sin(y);
                out[4 * i + 1] = 0.5F * std::cos(y);
                out[4 * i + 2] = 0.5F * std::sin(x);
                out[4 * i + 3] = 0.5F * std::cos(x);
            }
        }
}

// Calls work(stream row, patch row, position row) for every patch.
template <typename Work>
void for_patches(const PictureBatch& batch, int grid, const Work& work) {
    const int area = batch.side * batch.side;
    for (int p = 0; p < batch.pictures; ++p)
        for (int i = 0; i < area; ++i) {
            const auto at = static_cast<std::size_t>(p);
            const int row = batch.first_row[at] + i / batch.side;
            const int column = batch.first_column[at] + i % batch.side;
            work(p * (area + 1) + 1 + i, p * area + i, 1 + row * grid + column);
        }
}

}  // namespace

VisionTower::VisionTower(ParamStore& store, const ModelShape& shape) : shape_(shape) {
    const int d = shape.width;
    patch_w_ = store.add_normal("v.patch_embd.weight", d, kPatchValues,
                                1.0F / std::sqrt(static_cast<float>(kPatchValues)));
    class_ = store.add_normal("v.class_embd", 1, d, 0.5F, false);
    position_ = store.add_constant("v.position_embd.weight", 1 + shape.grid * shape.grid, d, 0.0F);
    fill_waves(store.value(position_), shape.grid, d);
    pre_w_ = store.add_constant("v.pre_ln.weight", 1, d, 1.0F);
    pre_b_ = store.add_constant("v.pre_ln.bias", 1, d, 0.0F);
    const float gain = 1.0F / std::sqrt(2.0F * static_cast<float>(shape.vision_blocks));
    for (int i = 0; i < shape.vision_blocks; ++i) blocks_.emplace_back(store, i, shape, gain);
}

float* VisionTower::forward(const ParamStore& store, const PictureBatch& batch, Tape& tape,
                            Arena& arena) const {
    const int d = shape_.width;
    const int area = batch.side * batch.side;
    const auto width = static_cast<std::size_t>(d);
    tape.rows = batch.pictures * (area + 1);
    tape.sequences.clear();
    for (int p = 0; p < batch.pictures; ++p) tape.sequences.push_back({p * (area + 1), area + 1, {}});
    const std::size_t stream = static_cast<std::size_t>(tape.rows) * width;
    tape.summed = arena.take(stream);
    tape.stats = arena.take(2 * static_cast<std::size_t>(tape.rows));
    float* x = arena.take(stream);
    const int patches = batch.pictures * area;
    float* embedded = arena.take(static_cast<std::size_t>(patches) * width);
    gemm_nt(patches, d, kPatchValues, batch.patches.data(), kPatchValues, store.value(patch_w_), kPatchValues,
            embedded, d);
    const float* positions = store.value(position_);
    for (int p = 0; p < batch.pictures; ++p) {
        float* row = tape.summed + static_cast<std::size_t>(p * (area + 1)) * width;
        for (int i = 0; i < d; ++i) row[i] = store.value(class_)[i] + positions[i];
    }
    for_patches(batch, shape_.grid, [&](int to, int from, int position) {
        float* row = tape.summed + static_cast<std::size_t>(to) * width;
        const float* patch = embedded + static_cast<std::size_t>(from) * width;
        const float* where = positions + static_cast<std::size_t>(position) * width;
        for (int i = 0; i < d; ++i) row[i] = patch[i] + where[i];
    });
    layer_norm(tape.summed, store.value(pre_w_), store.value(pre_b_), x, tape.stats, tape.rows, d,
               kVisionEpsilon);
    const FrameLayout layout = batch.layout();
    tape.blocks.resize(blocks_.size());
    for (std::size_t i = 0; i < blocks_.size(); ++i)
        x = blocks_[i].forward(store, x, tape.rows, tape.sequences, layout, tape.blocks[i], arena);
    return x;
}

void VisionTower::backward(ParamStore& store, const PictureBatch& batch, float* gradient, Tape& tape,
                           Arena& arena) const {
    const int d = shape_.width;
    const auto width = static_cast<std::size_t>(d);
    const int area = batch.side * batch.side;
    const FrameLayout layout = batch.layout();
    for (std::size_t i = blocks_.size(); i-- > 0;) {
        const Arena::Mark mark = arena.mark();
        blocks_[i].backward(store, gradient, tape.rows, tape.sequences, layout, tape.blocks[i], arena);
        arena.release(mark);
    }
    float* d_summed = arena.take_zeroed(static_cast<std::size_t>(tape.rows) * width);
    layer_norm_backward(tape.summed, store.value(pre_w_), tape.stats, gradient, d_summed, store.grad(pre_w_),
                        store.grad(pre_b_), tape.rows, d);
    const int patches = batch.pictures * area;
    float* d_embedded = arena.take(static_cast<std::size_t>(patches) * width);
    float* d_positions = store.grad(position_);
    for (int p = 0; p < batch.pictures; ++p) {
        const float* row = d_summed + static_cast<std::size_t>(p * (area + 1)) * width;
        add(store.grad(class_), row, width);
        add(d_positions, row, width);
    }
    for_patches(batch, shape_.grid, [&](int from, int to, int position) {
        const float* row = d_summed + static_cast<std::size_t>(from) * width;
        std::copy_n(row, width, d_embedded + static_cast<std::size_t>(to) * width);
        add(d_positions + static_cast<std::size_t>(position) * width, row, width);
    });
    gemm_tn(d, kPatchValues, patches, d_embedded, d, batch.patches.data(), kPatchValues, store.grad(patch_w_),
            kPatchValues, 1.0F);
}

}  // namespace clasp::training
