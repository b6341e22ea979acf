#include "support/reference_decoder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <set>

namespace clasp::test {

ReferenceDecoder::Vector ReferenceDecoder::Matrix::times(const Vector& x) const {
    Vector y(outputs, 0.0);
    for (std::size_t o = 0; o < outputs; ++o) {
        for (std::size_t i = 0; i < inputs; ++i) y[o] += static_cast<double>(values[o * inputs + i]) * x[i];
        if (!bias.empty()) y[o] += static_cast<double>(bias[o]);
    }
    return y;
}

ReferenceDecoder::Matrix ReferenceDecoder::copy(const ggml_tensor* tensor, const ggml_tensor* bias) {
    if (tensor == nullptr) return {};
    Matrix matrix;
    matrix.inputs = static_cast<std::size_t>(tensor->ne[0]);
    matrix.outputs = static_cast<std::size_t>(tensor->ne[1]);
    matrix.values.resize(matrix.inputs * matrix.outputs);
    if (tensor->type == GGML_TYPE_F32) {
        std::memcpy(matrix.values.data(), tensor->data, matrix.values.size() * sizeof(float));
    } else {
        ggml_get_type_traits(tensor->type)
            ->to_float(tensor->data, matrix.values.data(), ggml_nelements(tensor));
    }
    if (bias != nullptr) matrix.bias = copy(bias).values;
    return matrix;
}

ReferenceDecoder::Matrix ReferenceDecoder::part(const Matrix& matrix, std::size_t first, std::size_t n) {
    Matrix result;
    result.inputs = matrix.inputs;
    result.outputs = n;
    const auto cut = [](const std::vector<float>& from, std::size_t begin, std::size_t count) {
        const auto at = from.begin() + static_cast<std::ptrdiff_t>(begin);
        return std::vector<float>(at, at + static_cast<std::ptrdiff_t>(count));
    };
    result.values = cut(matrix.values, first * matrix.inputs, n * matrix.inputs);
    if (!matrix.bias.empty()) result.bias = cut(matrix.bias, first, n);
    return result;
}

ReferenceDecoder::Block ReferenceDecoder::copy_block(const model::BlockWeights& b, std::size_t layer) const {
    Block block;
    block.layer = layer;
    block.attention_norm = copy(b.attention_norm);
    if (b.qkv == nullptr) {
        block.q = copy(b.q, b.q_bias);
        block.k = copy(b.k, b.k_bias);
        block.v = copy(b.v, b.v_bias);
    } else {
        const Matrix qkv = copy(b.qkv, b.qkv_bias);
        const auto queries = static_cast<std::size_t>(config_.query_width());
        const auto keys = static_cast<std::size_t>(config_.kv_width());
        block.q = part(qkv, 0, queries);
        block.k = part(qkv, queries, keys);
        block.v = part(qkv, queries + keys, keys);
    }
    block.q_norm = copy(b.q_norm);
    block.k_norm = copy(b.k_norm);
    block.out = copy(b.attention_out, b.attention_out_bias);
    block.attention_post_norm = copy(b.attention_post_norm);
    block.ffn_norm = copy(b.ffn_norm);
    const Matrix up = copy(b.up, b.up_bias);
    const auto width = static_cast<std::size_t>(config_.ffn_width);
    block.gate = b.gate != nullptr ? copy(b.gate, b.gate_bias) : part(up, 0, width);
    block.up = b.gate != nullptr ? up : part(up, width, width);
    block.down = copy(b.down, b.down_bias);
    block.ffn_post_norm = copy(b.ffn_post_norm);
    return block;
}

ReferenceDecoder::ReferenceDecoder(const model::TextModel& model) : config_(model.config()) {
    const model::TextWeights& w = model.weights();
    embedding_ = copy(w.token_embedding);
    head_ = copy(w.head, w.head_bias);
    output_norm_ = copy(w.output_norm);
    rope_factors_ = copy(w.rope_factors).values;
    long_rope_factors_ = copy(w.long_rope_factors).values;
    short_rope_factors_ = copy(w.short_rope_factors).values;
    for (const model::BlockWeights& b : w.blocks) blocks_.push_back(copy_block(b, blocks_.size()));
}

ReferenceDecoder::Vector ReferenceDecoder::normalise(const Vector& x, const Matrix& weight) const {
    if (weight.values.empty()) return x;
    double squares = 0;
    for (const double value : x) squares += value * value;
    const double scale =
        1.0 / std::sqrt(squares / static_cast<double>(x.size()) + static_cast<double>(config_.norm_epsilon));
    Vector y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] * scale * static_cast<double>(weight.values[i]);
    return y;
}

ReferenceDecoder::Vector ReferenceDecoder::normalise_heads(const Vector& x, const Matrix& weight) const {
    const auto head = static_cast<std::ptrdiff_t>(config_.head_width);
    Vector y;
    for (auto at = x.begin(); at != x.end(); at += head) {
        const Vector normed = normalise(Vector(at, at + head), weight);
        y.insert(y.end(), normed.begin(), normed.end());
    }
    return y;
}

// Neighbours turn together, or entries half the rotated width apart. With planes, a frequency turns by one of
// them: by sections one after the other, or in turns as long as each plane's section lasts.
void ReferenceDecoder::rotate(Vector& x, std::size_t layer, const model::Position& position) const {
    const model::RopeConfig& rope = config_.rope_of(layer);
    const auto head = static_cast<std::size_t>(config_.head_width);
    const auto turned = static_cast<std::size_t>(rope.n_dims);
    const std::array<std::int32_t, 4>& sections = rope.sections;
    const auto plane_of = [&](std::size_t pair) -> std::size_t {
        const auto p = static_cast<std::int32_t>(pair);
        if (rope.kind == model::RopeKind::Mrope) {
            if (p < sections[0]) return 0;
            return p < sections[0] + sections[1] ? 1 : 2;
        }
        if (rope.kind != model::RopeKind::Imrope) return 0;
        const std::size_t plane = pair % 3;
        return p < 3 * sections[plane] ? plane : 3;
    };
    if (rope.extrapolation != 0.0F) std::abort();
    for (std::size_t first = 0; first < x.size(); first += head) {
        for (std::size_t pair = 0; pair < turned / 2; ++pair) {
            double frequency = static_cast<double>(rope.freq_scale) *
                               std::pow(static_cast<double>(rope.freq_base),
                                        -2.0 * static_cast<double>(pair) / static_cast<double>(turned));
            if (!factors_.empty()) frequency /= static_cast<double>(factors_[pair]);
            const double angle = frequency * static_cast<double>(position.planes[plane_of(pair)]);
            const double size = static_cast<double>(rope.attention_factor);
            const bool is_normal = rope.kind == model::RopeKind::Normal;
            double& a = x[first + (is_normal ? 2 * pair : pair)];
            double& b = x[first + (is_normal ? 2 * pair + 1 : pair + turned / 2)];
            const double next = size * (a * std::cos(angle) - b * std::sin(angle));
            b = size * (a * std::sin(angle) + b * std::cos(angle));
            a = next;
        }
    }
}

double ReferenceDecoder::gate(double x) const {
    if (config_.family->activation == model::GateActivation::Silu) return x / (1.0 + std::exp(-x));
    constexpr double kRoot = 0.79788456080286535588;  // of 2 / pi
    return 0.5 * x * (1.0 + std::tanh(kRoot * (x + 0.044715 * x * x * x)));
}

std::vector<ReferenceDecoder::Vector> ReferenceDecoder::keys_of(const Block& block,
                                                                const std::vector<Row>& rows) const {
    std::vector<Vector> keys;
    for (const Row& row : rows) {
        const Vector plain = block.k.times(normalise(row.hidden, block.attention_norm));
        keys.push_back(normalise_heads(plain, block.k_norm));
        rotate(keys.back(), block.layer, row.position);
    }
    return keys;
}

ReferenceDecoder::Vector ReferenceDecoder::query_of(const Block& block, const Row& row) const {
    const Vector plain = block.q.times(normalise(row.hidden, block.attention_norm));
    Vector query = normalise_heads(plain, block.q_norm);
    rotate(query, block.layer, row.position);
    return query;
}

bool ReferenceDecoder::sees(const std::vector<Row>& rows, std::size_t layer, std::size_t query,
                            std::size_t key) const {
    if (!rows[key].is_visible) return false;
    if (key > query) {
        return config_.family->images_see_both_ways && rows[key].image >= 0 &&
               rows[key].image == rows[query].image;
    }
    const std::int32_t window = config_.windows[layer];
    return window == 0 || rows[query].position.planes[0] - rows[key].position.planes[0] < window;
}

std::vector<ReferenceDecoder::Vector> ReferenceDecoder::logits(const Vector& query,
                                                               const std::vector<Vector>& keys) const {
    const auto head = static_cast<std::size_t>(config_.head_width);
    const auto n_heads = static_cast<std::size_t>(config_.n_heads);
    const std::size_t heads_per_key = n_heads / static_cast<std::size_t>(config_.n_kv_heads);
    const auto cap = static_cast<double>(config_.attention_cap);
    std::vector<Vector> result(n_heads, Vector(keys.size(), 0.0));
    for (std::size_t h = 0; h < n_heads; ++h) {
        for (std::size_t k = 0; k < keys.size(); ++k) {
            double dot = 0;
            for (std::size_t d = 0; d < head; ++d) {
                dot += query[h * head + d] * keys[k][h / heads_per_key * head + d];
            }
            dot /= std::sqrt(static_cast<double>(head));
            result[h][k] = cap == 0.0 ? dot : cap * std::tanh(dot / cap);
        }
    }
    return result;
}

std::vector<ReferenceDecoder::Vector> ReferenceDecoder::attention(const Block& block,
                                                                  const std::vector<Row>& rows,
                                                                  const std::vector<Vector>& keys,
                                                                  std::size_t i, bool uses_masses) const {
    std::vector<Vector> result = logits(query_of(block, rows[i]), keys);
    for (Vector& p : result) {
        for (std::size_t k = 0; k < rows.size(); ++k) {
            if (uses_masses) p[k] += std::log(rows[k].mass);
            if (!sees(rows, block.layer, i, k)) p[k] = -std::numeric_limits<double>::infinity();
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
    const std::size_t heads_per_key = n_heads / static_cast<std::size_t>(config_.n_kv_heads);
    const std::vector<Vector> keys = keys_of(block, rows);
    std::vector<Vector> values;
    for (const Row& row : rows) values.push_back(block.v.times(normalise(row.hidden, block.attention_norm)));
    std::vector<Vector> next;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        next.push_back(rows[i].hidden);
        // A masked row may have nothing left to look at; nobody reads it.
        if (!rows[i].is_visible) continue;
        const std::vector<Vector> p = attention(block, rows, keys, i, true);
        Vector mixed(n_heads * head, 0.0);
        for (std::size_t h = 0; h < n_heads; ++h) {
            for (std::size_t k = 0; k < rows.size(); ++k) {
                for (std::size_t d = 0; d < head; ++d) {
                    mixed[h * head + d] += p[h][k] * values[k][h / heads_per_key * head + d];
                }
            }
        }
        Vector& hidden = next.back();
        const Vector attended = normalise(block.out.times(mixed), block.attention_post_norm);
        for (std::size_t d = 0; d < attended.size(); ++d) hidden[d] += attended[d];
        const Vector input = normalise(hidden, block.ffn_norm);
        Vector inner = block.gate.times(input);
        const Vector up = block.up.times(input);
        for (std::size_t d = 0; d < inner.size(); ++d) inner[d] = gate(inner[d]) * up[d];
        const Vector out = normalise(block.down.times(inner), block.ffn_post_norm);
        for (std::size_t d = 0; d < out.size(); ++d) hidden[d] += out[d];
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
        rows[i].hidden = std::move(next[i]);
        const std::size_t first = block.layer * rows[i].hidden.size();
        for (std::size_t d = 0; d < rows[i].hidden.size() && first < rows[i].additions.size(); ++d) {
            rows[i].hidden[d] += static_cast<double>(rows[i].additions[first + d]);
        }
    }
}

void ReferenceDecoder::look(const Block& block, const std::vector<Row>& rows,
                            std::span<const std::int32_t> references, ReferenceRun& result) const {
    const std::vector<Vector> keys = keys_of(block, rows);
    Vector mean(rows.size(), 0.0);
    Vector first(rows.size(), 0.0);
    Vector first_logits(rows.size(), 0.0);
    const auto n_heads = static_cast<double>(config_.n_heads);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto found = std::find(references.begin(), references.end(), rows[i].sequence_index);
        if (found == references.end()) continue;
        if (found == references.begin()) {
            for (const Vector& dot : logits(query_of(block, rows[i]), keys)) {
                for (std::size_t k = 0; k < rows.size(); ++k) first_logits[k] += dot[k] / n_heads;
            }
        }
        for (const Vector& p : attention(block, rows, keys, i, false)) {
            for (std::size_t k = 0; k < rows.size(); ++k) {
                mean[k] += p[k] / n_heads / static_cast<double>(references.size());
                if (found == references.begin()) first[k] += p[k] / n_heads;
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

std::vector<ReferenceDecoder::Row> ReferenceDecoder::rows_of(const engine::PrefillRequest& request) const {
    const auto width = static_cast<std::size_t>(config_.width);
    std::vector<Row> rows;
    std::int32_t n_visual = 0;
    std::int32_t start = 0;
    std::int32_t image = -1;
    const auto add_row = [&](const float* values, float scale, const model::Position& position) -> Row& {
        Row row;
        for (std::size_t i = 0; i < width; ++i) row.hidden.push_back(static_cast<double>(values[i] * scale));
        row.sequence_index = static_cast<std::int32_t>(rows.size());
        row.position = position;
        rows.push_back(std::move(row));
        return rows.back();
    };
    for (const engine::PromptPart& part : request.parts) {
        for (const std::int32_t token : part.tokens) {
            add_row(embedding_.values.data() + static_cast<std::size_t>(token) * width,
                    config_.embedding_scale, model::text_position(start++));
        }
        if (part.embeddings.empty()) continue;
        ++image;
        const std::size_t n = part.embeddings.size() / width;
        for (std::size_t i = 0; i < n; ++i) {
            model::Position position = model::text_position(start + static_cast<std::int32_t>(i));
            if (!part.offsets.empty()) position = model::shifted(part.offsets[i], start);
            Row& row = add_row(part.embeddings.data() + i * width, 1.0F, position);
            row.is_carried = !part.is_carried.empty() && part.is_carried[i] != 0;
            if (!part.lines.empty()) row.line = part.lines[i];
            if (!row.is_carried) row.visual_index = n_visual++;
            row.image = image;
            const std::size_t n_more = part.additions.size() / n;
            const auto more = part.additions.subspan(i * n_more, n_more);
            row.additions.assign(more.begin(), more.end());
        }
        start += part.offsets.empty() ? static_cast<std::int32_t>(n) : part.n_positions;
    }
    return rows;
}

void ReferenceDecoder::hide_dropped(const engine::StageChoice& choice, std::vector<Row>& rows) {
    std::set<std::int32_t> lines;
    for (Row& row : rows) {
        if (row.visual_index < 0) continue;
        const auto found =
            std::find(choice.kept.begin(), choice.kept.end(), static_cast<TokenIndex>(row.visual_index));
        row.is_visible = row.is_visible && found != choice.kept.end();
        if (!row.is_visible) continue;
        lines.insert(row.line);
        if (choice.masses.empty()) continue;
        row.mass = static_cast<double>(choice.masses[static_cast<std::size_t>(found - choice.kept.begin())]);
    }
    for (Row& row : rows) {
        if (row.is_carried && row.line != engine::kNoLine && !lines.contains(row.line))
            row.is_visible = false;
    }
}

ReferenceRun ReferenceDecoder::run(const engine::PrefillRequest& request, Dropping dropping) const {
    std::vector<Row> rows = rows_of(request);
    const std::int32_t length = rows.back().position.planes[0] + 1 + request.room;
    factors_ = rope_factors_;
    if (factors_.empty()) {
        factors_ = length > config_.rope.original_context ? long_rope_factors_ : short_rope_factors_;
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
        look(blocks_[layer], rows, request.stages[stage].reference, result);
        std::vector<TokenIndex> live;
        for (const Row& row : rows) {
            if (row.visual_index >= 0 && row.is_visible)
                live.push_back(static_cast<TokenIndex>(row.visual_index));
        }
        engine::StageView view = {.layer = request.stages[stage].layer, .stage = stage, .live = live};
        view.seen.scores = methods::SignalTable(result.scores.back(), live.size());
        const auto choice = request.selector(view);
        if (!choice.ok()) std::abort();
        result.kept.push_back(choice->kept);
        const bool is_after = request.stages[stage].mode == StageMode::After;
        if (is_after) run_block(blocks_[layer], rows);
        hide_dropped(*choice, rows);
        std::vector<Row> next;
        for (Row& row : rows) {
            if (row.is_visible || dropping == Dropping::Mask) next.push_back(std::move(row));
        }
        rows = std::move(next);
        if (!is_after) run_block(blocks_[layer], rows);
        ++stage;
    }
    const auto cap = static_cast<double>(config_.final_cap);
    for (const double logit : head_.times(normalise(rows.back().hidden, output_norm_))) {
        result.logits.push_back(static_cast<float>(cap == 0.0 ? logit : cap * std::tanh(logit / cap)));
    }
    return result;
}

}  // namespace clasp::test
