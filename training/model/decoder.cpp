#include "model/decoder.h"

#include <algorithm>
#include <cmath>

#include "nn/kernels.h"

namespace clasp::training {

void TextBatch::clear() {
    tokens.clear();
    positions.clear();
    masks.clear();
    pictures.clear();
    targets.clear();
    question_class.clear();
    mentions.clear();
    early_mentions.clear();
    relations.clear();
}

Decoder::Decoder(ParamStore& store, const ModelShape& shape)
    : shape_(shape),
      mention_heads_(store, "mention", shape),
      early_heads_(store, "early", shape),
      relation_head_(store, shape) {
    const int d = shape.width;
    mm0_ = add_linear(store, "mm.0", d, d, true);
    mm2_ = add_linear(store, "mm.2", d, d, true);
    store.use_muon(mm0_.weight, 1);
    store.use_muon(mm2_.weight, 1);
    embedding_ = store.add_normal("token_embd.weight", shape.vocabulary, d, 1.0F, false);
    const float gain = 1.0F / std::sqrt(2.0F * static_cast<float>(shape.decoder_blocks));
    for (int i = 0; i < shape.decoder_blocks; ++i)
        blocks_.emplace_back(store, "blk." + std::to_string(i), shape, gain);
    norm_w_ = store.add_constant("output_norm.weight", 1, d, 1.0F);
    output_ = add_linear(store, "output", d, shape.vocabulary, false, 0.5F);
}

void Decoder::run(ParamStore& store, const float* features, int feature_rows, const TextBatch& batch,
                  const Weights& weights, float* gradient, AnswerScores& scores, Arena& arena) {
    const float weight = weights.answer_token;
    const int d = shape_.width;
    const auto width = static_cast<std::size_t>(d);
    const int rows = static_cast<int>(batch.tokens.size());
    const std::size_t stream = batch.tokens.size() * width;
    const std::size_t visual = static_cast<std::size_t>(feature_rows) * width;

    float* projected0 = arena.take(visual);
    float* projected1 = arena.take(visual);
    float* projected = arena.take(visual);
    linear(store, mm0_, features, projected0, feature_rows);
    gelu(projected0, projected1, visual);
    linear(store, mm2_, projected1, projected, feature_rows);

    float* x = arena.take(stream);
    for (int r = 0; r < rows; ++r) {
        const int token = batch.tokens[static_cast<std::size_t>(r)];
        const float* from = token <= TextBatch::kVisual
                                ? projected + static_cast<std::size_t>(TextBatch::kVisual - token) * width
                                : store.value(embedding_) + static_cast<std::size_t>(token) * width;
        std::copy_n(from, width, x + static_cast<std::size_t>(r) * width);
    }
    std::vector<Sequence> sequences;
    for (const TextBatch::Span& span : batch.pictures)
        sequences.push_back(
            {span.first_row, span.length,
             std::span(batch.masks)
                 .subspan(static_cast<std::size_t>(span.first_row), static_cast<std::size_t>(span.length))});
    // Only rows that predict an answer token leave the last block and go through the head.
    std::vector<int> answer_rows;
    for (const TextBatch::Target& target : batch.targets) answer_rows.push_back(target.row);
    const auto needed = [&](std::size_t block) {
        return block + 1 == blocks_.size() ? std::span<const int>(answer_rows) : std::span<const int>();
    };
    tapes_.resize(blocks_.size());
    std::vector<float*> d_taps(blocks_.size());  // gradients of the auxiliary heads, by block
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
        x = blocks_[i].forward(store, x, batch.positions, sequences, needed(i), tapes_[i], arena);
        const bool has_early = i == early_block() && weights.early_mention > 0;
        const bool has_mentions = i == mention_block() && weights.mention > 0;
        const bool has_relations = i == relation_block() && weights.relation > 0;
        if ((has_early || has_mentions || has_relations) && gradient != nullptr)
            d_taps[i] = arena.take_zeroed(stream);
        if (has_early)
            early_heads_.run(store, x, batch.early_mentions, weights.early_mention, d_taps[i],
                             scores.early_mentions, arena);
        if (has_mentions)
            mention_heads_.run(store, x, batch.mentions, weights.mention, d_taps[i], scores.mentions, arena);
        if (has_relations)
            scores.relation_loss =
                relation_head_.run(store, x, batch.relations, weights.relation, d_taps[i], arena);
    }
    const float* last = x;
    const int answers = static_cast<int>(batch.targets.size());
    const std::size_t answer_values = batch.targets.size() * width;
    float* normed = arena.take(answer_values);
    float* stats = arena.take(batch.targets.size());
    rms_norm(last, store.value(norm_w_), normed, stats, answers, d, kDecoderEpsilon);
    const int classes = shape_.vocabulary;
    float* logits = arena.take(batch.targets.size() * static_cast<std::size_t>(classes));
    linear(store, output_, normed, logits, answers);

    scores.is_exact.assign(batch.question_class.size(), true);
    scores.question_loss.assign(batch.question_class.size(), 0.0F);
    scores.predicted.assign(batch.targets.size(), 0);
    for (std::size_t i = 0; i < batch.targets.size(); ++i) {
        float* values = logits + i * static_cast<std::size_t>(classes);
        const TextBatch::Target& target = batch.targets[i];
        const auto best = static_cast<int>(std::max_element(values, values + classes) - values);
        scores.predicted[i] = best;
        if (best != target.token) scores.is_exact[static_cast<std::size_t>(target.question)] = false;
        const float loss = softmax_loss(values, classes, target.token);
        scores.loss += static_cast<double>(weight * loss);
        scores.question_loss[static_cast<std::size_t>(target.question)] += loss;
        values[target.token] -= 1.0F;
        for (int c = 0; c < classes; ++c) values[c] *= weight;
    }
    if (gradient == nullptr) return;

    float* d_normed = arena.take(answer_values);
    linear_backward(store, output_, normed, logits, d_normed, answers);
    float* d_last = arena.take_zeroed(answer_values);
    rms_norm_backward(last, store.value(norm_w_), stats, d_normed, d_last, store.grad(norm_w_), answers, d);
    float* dx = d_last;
    for (std::size_t i = blocks_.size(); i-- > 0;) {
        if (d_taps[i] != nullptr) add(dx, d_taps[i], stream);
        dx = blocks_[i].backward(store, dx, batch.positions, sequences, needed(i), tapes_[i], arena);
    }
    float* d_projected = arena.take_zeroed(visual);
    for (int r = 0; r < rows; ++r) {
        const int token = batch.tokens[static_cast<std::size_t>(r)];
        float* to = token <= TextBatch::kVisual
                        ? d_projected + static_cast<std::size_t>(TextBatch::kVisual - token) * width
                        : store.grad(embedding_) + static_cast<std::size_t>(token) * width;
        add(to, dx + static_cast<std::size_t>(r) * width, width);
    }
    float* d_hidden = arena.take(visual);
    linear_backward(store, mm2_, projected1, d_projected, d_hidden, feature_rows);
    gelu_backward(projected0, d_hidden, visual);
    float* d_features = arena.take(visual);
    linear_backward(store, mm0_, features, d_hidden, d_features, feature_rows);
    add(gradient, d_features, visual);
}

}  // namespace clasp::training
