#include "support/reference_decoder.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace clasp::test {

ReferenceDecoder::Vector ReferenceDecoder::Matrix::times(const Vector& x) const {
    Vector y(outputs, 0.0);
    for (std::size_t o = 0; o < outputs; ++o) {
        for (std::size_t i = 0; i < inputs; ++i) y[o] += static_cast<double>(values[o * inputs + i]) * x[i];
    }
    return y;
}

ReferenceDecoder::Matrix ReferenceDecoder::copy(const ggml_tensor* tensor) {
    if (tensor == nullptr || tensor->type != GGML_TYPE_F32) std::abort();
    Matrix matrix;
    matrix.inputs = static_cast<std::size_t>(tensor->ne[0]);
    matrix.outputs = static_cast<std::size_t>(tensor->ne[1]);
    matrix.values.resize(matrix.inputs * matrix.outputs);
    std::memcpy(matrix.values.data(), tensor->data, matrix.values.size() * sizeof(float));
    return matrix;
}

ReferenceDecoder::ReferenceDecoder(const model::TextModel& model) : config_(model.config()) {
    const model::TextWeights& w = model.weights();
    embedding_ = copy(w.token_embedding);
    head_ = copy(w.head);
    output_norm_ = copy(w.output_norm);
    for (const model::BlockWeights& b : w.blocks) {
        blocks_.push_back({copy(b.attention_norm), copy(b.q), copy(b.k), copy(b.v), copy(b.attention_out),
                           copy(b.ffn_norm), copy(b.gate), copy(b.up), copy(b.down)});
    }
}

ReferenceDecoder::Vector ReferenceDecoder::normalise(const Vector& x, const Matrix& weight) const {
    double squares = 0;
    for (const double value : x) squares += value * value;
    const double scale =
        1.0 / std::sqrt(squares / static_cast<double>(x.size()) + static_cast<double>(config_.norm_epsilon));
    Vector y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] * scale * static_cast<double>(weight.values[i]);
    return y;
}

// Consecutive entries of a head form the pairs that turn.
void ReferenceDecoder::rotate(Vector& x, std::size_t n_heads, std::int32_t position) const {
    const auto head = static_cast<std::size_t>(config_.head_width);
    for (std::size_t h = 0; h < n_heads; ++h) {
        for (std::size_t pair = 0; pair < head / 2; ++pair) {
            const double frequency = std::pow(static_cast<double>(config_.rope.freq_base),
                                              -2.0 * static_cast<double>(pair) / static_cast<double>(head));
            const double angle = static_cast<double>(position) * frequency;
            double& a = x[h * head + 2 * pair];
            double& b = x[h * head + 2 * pair + 1];
            const double turned = a * std::cos(angle) - b * std::sin(angle);
            b = a * std::sin(angle) + b * std::cos(angle);
            a = turned;
        }
    }
}

std::vector<ReferenceDecoder::Vector> ReferenceDecoder::logits(const Vector& query,
                                                               const std::vector<Vector>& keys,
                                                               std::size_t i) const {
    const auto head = static_cast<std::size_t>(config_.head_width);
    const auto n_heads = static_cast<std::size_t>(config_.n_heads);
    const std::size_t heads_per_key = n_heads / static_cast<std::size_t>(config_.n_kv_heads);
    std::vector<Vector> result(n_heads, Vector(i + 1, 0.0));
    for (std::size_t h = 0; h < n_heads; ++h) {
        for (std::size_t k = 0; k <= i; ++k) {
            double dot = 0;
            for (std::size_t d = 0; d < head; ++d) {
                dot += query[h * head + d] * keys[k][h / heads_per_key * head + d];
            }
            result[h][k] = dot / std::sqrt(static_cast<double>(head));
        }
    }
    return result;
}

std::vector<ReferenceDecoder::Vector> ReferenceDecoder::attention(const std::vector<Row>& rows,
                                                                  const Vector& query,
                                                                  const std::vector<Vector>& keys,
                                                                  std::size_t i, bool uses_masses) const {
    std::vector<Vector> result = logits(query, keys, i);
    for (Vector& p : result) {
        for (std::size_t k = 0; k <= i; ++k) {
            if (uses_masses) p[k] += std::log(rows[k].mass);
            if (!rows[k].is_visible) p[k] = -std::numeric_limits<double>::infinity();
        }
        const double largest = *std::max_element(p.begin(), p.end());
        double sum = 0;
        for (double& value : p) sum += value = std::exp(value - largest);
        for (double& value : p) value /= sum;
    }
    return result;
}

void ReferenceDecoder::run_block(const Block& block, std::vector<Row>& rows) const {
    const auto head = static_cast<std::size_t>(config_.head_width);
    const auto n_heads = static_cast<std::size_t>(config_.n_heads);
    const auto n_kv_heads = static_cast<std::size_t>(config_.n_kv_heads);
    std::vector<Vector> keys;
    std::vector<Vector> values;
    std::vector<Vector> normed;
    for (const Row& row : rows) {
        normed.push_back(normalise(row.hidden, block.attention_norm));
        keys.push_back(block.k.times(normed.back()));
        rotate(keys.back(), n_kv_heads, row.sequence_index);
        values.push_back(block.v.times(normed.back()));
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
        // A masked row may have nothing left to look at; nobody reads it.
        if (!rows[i].is_visible) continue;
        Vector query = block.q.times(normed[i]);
        rotate(query, n_heads, rows[i].sequence_index);
        const std::vector<Vector> p = attention(rows, query, keys, i, true);
        Vector mixed(n_heads * head, 0.0);
        for (std::size_t h = 0; h < n_heads; ++h) {
            for (std::size_t k = 0; k <= i; ++k) {
                for (std::size_t d = 0; d < head; ++d) {
                    mixed[h * head + d] += p[h][k] * values[k][h / (n_heads / n_kv_heads) * head + d];
                }
            }
        }
        const Vector attended = block.out.times(mixed);
        for (std::size_t d = 0; d < attended.size(); ++d) rows[i].hidden[d] += attended[d];
        const Vector input = normalise(rows[i].hidden, block.ffn_norm);
        Vector gate = block.gate.times(input);
        const Vector up = block.up.times(input);
        for (std::size_t d = 0; d < gate.size(); ++d) gate[d] = gate[d] / (1.0 + std::exp(-gate[d])) * up[d];
        const Vector out = block.down.times(gate);
        for (std::size_t d = 0; d < out.size(); ++d) rows[i].hidden[d] += out[d];
    }
}

void ReferenceDecoder::look(const Block& block, const std::vector<Row>& rows,
                            std::span<const std::int32_t> references, ReferenceRun& result) const {
    std::vector<Vector> keys;
    std::vector<Vector> normed;
    for (const Row& row : rows) {
        normed.push_back(normalise(row.hidden, block.attention_norm));
        keys.push_back(block.k.times(normed.back()));
        rotate(keys.back(), static_cast<std::size_t>(config_.n_kv_heads), row.sequence_index);
    }
    Vector mean(rows.size(), 0.0);
    Vector first(rows.size(), 0.0);
    Vector first_logits(rows.size(), 0.0);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto found = std::find(references.begin(), references.end(), rows[i].sequence_index);
        if (found == references.end()) continue;
        Vector query = block.q.times(normed[i]);
        rotate(query, static_cast<std::size_t>(config_.n_heads), rows[i].sequence_index);
        if (found == references.begin()) {
            const std::vector<Vector> dots = logits(query, keys, i);
            for (const Vector& dot : dots) {
                for (std::size_t k = 0; k <= i; ++k)
                    first_logits[k] += dot[k] / static_cast<double>(dots.size());
            }
        }
        for (const Vector& p : attention(rows, query, keys, i, false)) {
            for (std::size_t k = 0; k <= i; ++k) {
                mean[k] +=
                    p[k] / static_cast<double>(config_.n_heads) / static_cast<double>(references.size());
                if (found == references.begin()) first[k] += p[k] / static_cast<double>(config_.n_heads);
            }
        }
    }
    std::vector<float> scores;
    std::vector<float> first_row;
    std::vector<float> first_dots;
    std::vector<float> norms;
    std::vector<float> hidden;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].visual_index < 0 || !rows[i].is_visible) continue;
        scores.push_back(static_cast<float>(mean[i]));
        first_row.push_back(static_cast<float>(first[i]));
        first_dots.push_back(static_cast<float>(first_logits[i]));
        double norm = 0;
        for (const double value : keys[i]) norm += std::abs(value);
        norms.push_back(static_cast<float>(norm));
        for (const double value : rows[i].hidden) hidden.push_back(static_cast<float>(value));
    }
    result.scores.push_back(std::move(scores));
    result.first_row.push_back(std::move(first_row));
    result.first_logits.push_back(std::move(first_dots));
    result.key_norms.push_back(std::move(norms));
    result.hidden.push_back(std::move(hidden));
}

ReferenceRun ReferenceDecoder::run(const engine::PrefillRequest& request, Dropping dropping) const {
    const auto width = static_cast<std::size_t>(config_.width);
    std::vector<Row> rows;
    std::int32_t n_visual = 0;
    const auto add_row = [&](const float* values, std::int32_t visual_index) {
        Row row;
        row.hidden.assign(values, values + width);
        row.sequence_index = static_cast<std::int32_t>(rows.size());
        row.visual_index = visual_index;
        rows.push_back(std::move(row));
    };
    for (const engine::PromptPart& part : request.parts) {
        for (const std::int32_t token : part.tokens) {
            add_row(embedding_.values.data() + static_cast<std::size_t>(token) * width, -1);
        }
        for (std::size_t i = 0; i < part.embeddings.size() / width; ++i) {
            add_row(part.embeddings.data() + i * width, n_visual++);
        }
    }

    ReferenceRun result;
    std::size_t stage = 0;
    for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
        const bool has_stage =
            stage < request.stages.size() && request.stages[stage].layer == static_cast<std::int32_t>(layer);
        if (!has_stage) {
            run_block(blocks_[layer], rows);
            continue;
        }
        look(blocks_[layer], rows, request.reference_tokens, result);
        std::vector<TokenIndex> live;
        for (const Row& row : rows) {
            if (row.visual_index >= 0 && row.is_visible)
                live.push_back(static_cast<TokenIndex>(row.visual_index));
        }
        const auto choice = request.selector({.layer = request.stages[stage].layer,
                                              .stage = stage,
                                              .live = live,
                                              .scores = result.scores.back()});
        if (!choice.ok()) std::abort();
        result.kept.push_back(choice->kept);
        const bool is_after = request.stages[stage].mode == StageMode::After;
        if (is_after) run_block(blocks_[layer], rows);
        std::vector<Row> next;
        for (Row& row : rows) {
            if (row.visual_index >= 0) {
                const auto found = std::find(choice->kept.begin(), choice->kept.end(),
                                             static_cast<TokenIndex>(row.visual_index));
                row.is_visible = row.is_visible && found != choice->kept.end();
                if (row.is_visible && !choice->masses.empty()) {
                    row.mass = static_cast<double>(
                        choice->masses[static_cast<std::size_t>(found - choice->kept.begin())]);
                }
            }
            if (row.is_visible || dropping == Dropping::Mask) next.push_back(std::move(row));
        }
        rows = std::move(next);
        if (!is_after) run_block(blocks_[layer], rows);
        ++stage;
    }
    for (const double logit : head_.times(normalise(rows.back().hidden, output_norm_))) {
        result.logits.push_back(static_cast<float>(logit));
    }
    return result;
}

}  // namespace clasp::test
