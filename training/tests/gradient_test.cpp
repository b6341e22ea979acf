// Every backward pass against finite differences.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <vector>

#include "model/model.h"
#include "model/take_over.h"
#include "nn/attention.h"
#include "nn/frame_attention.h"
#include "nn/gemm.h"
#include "nn/kernels.h"
#include "train/batch.h"
#include "world/random.h"

namespace clasp::training {
namespace {

std::vector<float> noise(std::size_t count, std::uint64_t seed) {
    world::Random rng(seed);
    std::vector<float> out(count);
    for (float& x : out) x = rng.range(-1.5F, 1.5F);
    return out;
}

double dot(const std::vector<float>& a, const std::vector<float>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    return sum;
}

// Compares `gradient` with central differences of `loss` over the entries of x.
void expect_gradient(std::vector<float>& x, const std::vector<float>& gradient,
                     const std::function<double()>& loss, const char* what) {
    constexpr float kStep = 1e-2F;
    for (std::size_t i = 0; i < x.size(); i += 1 + x.size() / 40) {
        const float old = x[i];
        x[i] = old + kStep;
        const double above = loss();
        x[i] = old - kStep;
        const double below = loss();
        x[i] = old;
        const double slope = (above - below) / (2.0 * static_cast<double>(kStep));
        EXPECT_NEAR(gradient[i], slope, 5e-3 + 0.02 * std::abs(slope)) << what << " entry " << i;
    }
}

TEST(Gradient, layer_norm) {
    const int rows = 3;
    const int width = 16;
    auto x = noise(rows * width, 1);
    auto w = noise(width, 2);
    auto b = noise(width, 3);
    const auto weight = noise(x.size(), 4);
    std::vector<float> y(x.size());
    std::vector<float> stats(2 * rows);
    const auto loss = [&] {
        layer_norm(x.data(), w.data(), b.data(), y.data(), stats.data(), rows, width, 1e-5F);
        return dot(y, weight);
    };
    loss();
    std::vector<float> dx(x.size());
    std::vector<float> dw(width);
    std::vector<float> db(width);
    layer_norm_backward(x.data(), w.data(), stats.data(), weight.data(), dx.data(), dw.data(), db.data(),
                        rows, width);
    expect_gradient(x, dx, loss, "x");
    expect_gradient(w, dw, loss, "w");
    expect_gradient(b, db, loss, "b");
}

TEST(Gradient, rms_norm) {
    const int rows = 3;
    const int width = 16;
    auto x = noise(rows * width, 1);
    auto w = noise(width, 2);
    const auto weight = noise(x.size(), 4);
    std::vector<float> y(x.size());
    std::vector<float> stats(rows);
    const auto loss = [&] {
        rms_norm(x.data(), w.data(), y.data(), stats.data(), rows, width, 1e-5F);
        return dot(y, weight);
    };
    loss();
    std::vector<float> dx(x.size());
    std::vector<float> dw(width);
    rms_norm_backward(x.data(), w.data(), stats.data(), weight.data(), dx.data(), dw.data(), rows, width);
    expect_gradient(x, dx, loss, "x");
    expect_gradient(w, dw, loss, "w");
}

TEST(Gradient, activations) {
    auto x = noise(64, 5);
    const auto weight = noise(x.size(), 6);
    std::vector<float> y(x.size());
    auto dx = weight;
    quick_gelu_backward(x.data(), dx.data(), x.size());
    expect_gradient(
        x, dx,
        [&] {
            quick_gelu(x.data(), y.data(), x.size());
            return dot(y, weight);
        },
        "quick gelu");
    dx = weight;
    gelu_backward(x.data(), dx.data(), x.size());
    expect_gradient(
        x, dx,
        [&] {
            gelu(x.data(), y.data(), x.size());
            return dot(y, weight);
        },
        "gelu");
}

TEST(Gradient, swiglu) {
    auto x = noise(4 * 16, 7);
    const auto weight = noise(4 * 8, 8);
    std::vector<float> y(weight.size());
    std::vector<float> dx(x.size());
    swiglu_backward(x.data(), weight.data(), dx.data(), 4, 8);
    expect_gradient(
        x, dx,
        [&] {
            swiglu(x.data(), y.data(), 4, 8);
            return dot(y, weight);
        },
        "swiglu");
}

TEST(Gradient, rotation_backward_is_the_inverse) {
    auto x = noise(5 * 3 * 64, 9);
    const auto before = x;
    const std::vector<int> positions = {0, 3, 7, 100, 601};
    rotate_pairs(x.data(), positions, 64, 32, 1);
    EXPECT_GT(std::abs(x[3 * 64] - before[3 * 64]), 1e-3F);
    rotate_pairs(x.data(), positions, 64, 32, -1);
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], before[i], 1e-5F);
}

TEST(Gradient, attention_with_shared_prefix) {
    const AttentionShape shape{8, 2};
    // A sequence of 130 rows crosses a tile border: prefix of 100, then two questions.
    std::vector<RowMask> masks;
    for (int i = 0; i < 130; ++i)
        masks.push_back(i < 100 ? RowMask{i + 1, i + 1} : RowMask{100, i < 115 ? 100 : 115});
    const std::vector<Sequence> sequences = {{0, 130, masks}, {130, 5, {}}};
    auto qkv = noise(135 * 24, 10);
    const auto weight = noise(135 * 8, 11);
    std::vector<float> out(weight.size());
    Arena arena;
    AttentionTape tape;
    const auto loss = [&] {
        arena.reset();
        attention(qkv.data(), out.data(), sequences, shape, tape, arena);
        return dot(out, weight);
    };
    loss();
    std::vector<float> d_qkv(qkv.size());
    attention_backward(qkv.data(), out.data(), weight.data(), d_qkv.data(), sequences, shape, tape, arena);
    expect_gradient(qkv, d_qkv, loss, "qkv");

    // A row of the second question must not see the first one.
    const float before = out[129 * 8];
    for (int r = 100; r < 115; ++r)
        for (int i = 8; i < 24; ++i) qkv[static_cast<std::size_t>(r * 24 + i)] += 1;
    loss();
    EXPECT_EQ(out[129 * 8], before);
}

TEST(Gradient, attention_between_frames) {
    const AttentionShape shape{8, 2};
    const FrameLayout layout{2, 3, 5};
    auto qkv = noise(static_cast<std::size_t>(layout.rows()) * 24, 17);
    const auto weight = noise(static_cast<std::size_t>(layout.rows()) * 8, 18);
    std::vector<float> out(weight.size());
    Arena arena;
    float* probabilities = nullptr;
    const auto loss = [&] {
        arena.reset();
        probabilities = frame_attention(qkv.data(), out.data(), layout, shape, arena);
        return dot(out, weight);
    };
    loss();
    std::vector<float> d_qkv(qkv.size());
    frame_attention_backward(qkv.data(), probabilities, weight.data(), d_qkv.data(), layout, shape);
    expect_gradient(qkv, d_qkv, loss, "qkv");

    // It is the usual attention over the rows of one place.
    const int place = 2;
    std::vector<float> rows;
    for (int f = 0; f < layout.frames; ++f)
        for (int i = 0; i < 24; ++i)
            rows.push_back(qkv[static_cast<std::size_t>((f * layout.places + place) * 24 + i)]);
    std::vector<float> expected(static_cast<std::size_t>(layout.frames) * 8);
    const std::vector<Sequence> sequences = {{0, layout.frames, {}}};
    AttentionTape tape;
    loss();
    attention(rows.data(), expected.data(), sequences, shape, tape, arena);
    for (int f = 0; f < layout.frames; ++f)
        for (int i = 0; i < 8; ++i)
            EXPECT_NEAR(out[static_cast<std::size_t>((f * layout.places + place) * 8 + i)],
                        expected[static_cast<std::size_t>(f * 8 + i)], 1e-5F);
}

class WholeModel : public testing::Test {
   protected:
    WholeModel() {
        openblas_set_num_threads(1);  // products this small wait for their threads longer than they take
        shape_.width = 32;
        shape_.heads = 2;
        shape_.vision_ffn = 48;
        shape_.decoder_ffn = 40;
        shape_.vision_blocks = 2;
        shape_.decoder_blocks = 3;  // the last one keeps the rows of answers only
        shape_.vocabulary = vocabulary_.size();
        BatchPlan plan;
        plan.pictures = 2;
        plan.questions = 3;
        plan.sides = 1;
        plan.chained_share = 0.5F;
        make_batch(plan, vocabulary_, batch_);
    }

    double loss(Model& model, bool backward) {
        AuxScores aux;
        AnswerScores answers;
        model.run(batch_.pictures, batch_.targets, batch_.text, {1.0F, 0.1F, backward, 0.2F, 0.3F, 0.5F}, aux,
                  answers);
        return aux.loss + answers.loss + answers.mentions.loss + answers.early_mentions.loss +
               answers.relation_loss;
    }

    // Of the parameters whose names begin with one of these. Returns how many there were.
    int expect_gradients(Model& model, const std::vector<std::string_view>& prefixes = {""}) {
        ParamStore& store = model.store();
        int n_checked = 0;
        store.zero_grads();
        loss(model, true);
        const std::vector<float> gradients = store.grads();
        for (const Param& param : store.params()) {
            const auto is_prefix = [&](std::string_view prefix) { return param.name.starts_with(prefix); };
            if (std::ranges::none_of(prefixes, is_prefix)) continue;
            // Directional derivative along the gradient itself: one number for the whole tensor.
            double square = 0;
            for (std::size_t i = 0; i < param.size(); ++i)
                square += std::pow(static_cast<double>(gradients[param.offset + i]), 2);
            if (square == 0) continue;
            const auto scale = static_cast<float>(2e-2 / std::sqrt(square));
            const auto shift = [&](float by) {
                for (std::size_t i = 0; i < param.size(); ++i)
                    store.values()[param.offset + i] += by * scale * gradients[param.offset + i];
            };
            shift(1);
            const double above = loss(model, false);
            shift(-2);
            const double below = loss(model, false);
            shift(1);
            const double slope = (above - below) / (2.0 * static_cast<double>(scale));
            EXPECT_NEAR(slope / square, 1.0, 0.03) << param.name << " norm " << std::sqrt(square);
            ++n_checked;
        }
        return n_checked;
    }

    double answer_loss(Model& model) {
        AuxScores aux;
        AnswerScores answers;
        model.run(batch_.pictures, batch_.targets, batch_.text, {1.0F, 0.1F, false}, aux, answers);
        return aux.loss + answers.loss;
    }

    ModelShape shape_;
    Vocabulary vocabulary_ = Vocabulary::learn({}, {}, 0);
    Batch batch_;
};

TEST_F(WholeModel, every_parameter_has_the_right_gradient) {
    Model model(shape_);
    EXPECT_GT(expect_gradients(model), 60);
}

// The same with temporal parts over the frames of a clip.
class ClipModel : public WholeModel {
   protected:
    ClipModel() {
        shape_.frames = world::kClipFrames;
        shape_.grid = world::kClipSide;
        BatchPlan plan;
        plan.frames = world::kClipFrames;
        plan.pictures = 1;
        plan.questions = 3;
        make_batch(plan, vocabulary_, batch_);
    }
};

// The decoder's are those of the still model: it reads more rows, and nothing new in them.
TEST_F(ClipModel, every_parameter_of_the_tower_has_the_right_gradient) {
    Model model(shape_);
    // Temporal parts begin with outputs of zero; here they take part.
    for (int i = 0; i < shape_.vision_blocks; ++i) {
        const ParamId id = model.store().find("vv.blk." + std::to_string(i) + ".t_attn_out.weight");
        const std::vector<float> values = noise(model.store().info(id).size(), 77);
        for (std::size_t k = 0; k < values.size(); ++k) model.store().value(id)[k] = 0.2F * values[k];
    }
    EXPECT_EQ(expect_gradients(model, {"v.", "vv."}), 5 + shape_.vision_blocks * (12 + 7));
}

TEST_F(ClipModel, begins_as_the_model_of_pictures_but_for_the_embedding_of_frames) {
    ModelShape still_shape = shape_;
    still_shape.frames = 1;
    still_shape.grid = 12;
    Model still(still_shape);
    Model clips(shape_);
    take_over(still, clips);
    const ParamId wave = clips.store().find("vv.blk.0.t_embd");
    std::fill_n(clips.store().value(wave), clips.store().info(wave).size(), 0.0F);
    const double with_frames = answer_loss(clips);
    batch_.pictures.frames = 1;  // the temporal parts stand aside; labels and prompts are those of the clip
    EXPECT_NEAR(answer_loss(clips), with_frames, 1e-5);
    for (int& at : batch_.pictures.first_row) at = 2;  // the middle of 12
    for (int& at : batch_.pictures.first_column) at = 2;
    // The heads differ: they are made anew.
    for (ParamId id = 0; id < still.store().params().size(); ++id)
        if (is_auxiliary(still.store().info(id)))
            std::copy_n(clips.store().value(clips.store().find(still.store().info(id).name)),
                        still.store().info(id).size(), still.store().value(id));
    EXPECT_NEAR(answer_loss(still), with_frames, 1e-5);
}

TEST_F(WholeModel, growing_keeps_the_function) {
    Model model(shape_);
    ModelShape deeper = shape_;
    deeper.vision_blocks = 3;
    deeper.decoder_blocks = 6;
    Model grown(deeper);
    grow(model, grown);
    EXPECT_NEAR(answer_loss(model), answer_loss(grown), 1e-5);
    // Early heads and the first pruning stage rely on the decoder's leading blocks staying in place.
    for (int i = 0; i < kLeadingBlocks; ++i) {
        const std::string name = "blk." + std::to_string(i) + ".attn_output.weight";
        const ParamId before = model.store().find(name);
        ASSERT_LT(before, model.store().params().size()) << name;
        const float* old = model.store().value(before);
        EXPECT_TRUE(std::equal(old, old + model.store().info(before).size(),
                               grown.store().value(grown.store().find(name))))
            << name;
    }
}

}  // namespace
}  // namespace clasp::training
