// Beginnings of prompts: what a run finds of its own, and what it leaves for others.
#include <algorithm>

#include "base/check.h"
#include "engine/prefill_run.h"
#include "engine/row_masks.h"

namespace clasp::engine {

namespace {

// Rows of the piece that holds the last of the first n rows.
std::size_t rows_of_piece(std::span<const LiveRow> rows, std::size_t n, std::size_t batch_rows,
                          bool sees_both_ways) {
    std::size_t begin = 0;
    for (;;) {
        const std::size_t end = piece_end(rows, begin, batch_rows, sees_both_ways);
        if (end >= n) return end - begin;
        begin = end;
    }
}

// Which of the model's factors a sequence has: StartKind::rope.
std::int32_t rope_kind(const ggml_tensor* factors, const model::TextWeights& weights) {
    if (factors == nullptr || factors == weights.rope_factors) return 0;
    return factors == weights.short_rope_factors ? 1 : 2;
}

}  // namespace

bool PrefillRun::is_precise() const {
    const bool both_ways = workspace_.model().config().family->images_see_both_ways;
    return rows_of_piece(live_.rows(), 1, batch_rows_, both_ways) >=
           static_cast<std::size_t>(model::kPreciseQueries);
}

void PrefillRun::find_starts() {
    if (request_.starts == nullptr) return;
    const model::TextModel& model = workspace_.model();
    const std::span<const LiveRow> rows = live_.rows();
    start_rows_ = start_rows(rows);
    const auto [n_prefix, n_front] = start_rows_;
    if (n_front == 0 || n_front == rows.size()) return;
    const std::size_t n_blocks = model.weights().blocks.size();
    front_layers_ =
        request_.stages.empty() ? n_blocks : static_cast<std::size_t>(request_.stages.front().layer);
    StartKind kind = {.kv_type = static_cast<std::int32_t>(sequence_.kv().type()),
                      .rope = rope_kind(sequence_.rope_factors(), model.weights()),
                      .n_layers = n_blocks};
    const bool both_ways = model.config().family->images_see_both_ways;
    if (n_prefix > 0 && request_.starts->keeps(StartPart::Prefix) &&
        rows_of_piece(rows, 1, batch_rows_, both_ways) >= n_prefix) {
        prefix_key_ = prefix_key(std::span(tokens_).first(n_prefix), kind);
        prefix_ = request_.starts->find(StartPart::Prefix, prefix_key_);
        if (prefix_ != nullptr && !fits(*prefix_, n_prefix, n_blocks)) prefix_ = nullptr;
    }
    if (front_layers_ > 0 && request_.starts->keeps(StartPart::Front)) {
        // Parts end where images do.
        const auto width = static_cast<std::size_t>(model.config().width);
        std::size_t n_parts = 0;
        for (std::size_t n = 0; n < n_front; ++n_parts) {
            const PromptPart& part = request_.parts[n_parts];
            n += part.tokens.empty() ? part.embeddings.size() / width : part.tokens.size();
        }
        kind.n_layers = front_layers_;
        kind.is_precise = rows_of_piece(rows, n_front, batch_rows_, both_ways) >=
                          static_cast<std::size_t>(model::kPreciseQueries);
        front_key_ = front_key(request_.parts.first(n_parts), rows.first(n_front), kind);
        front_ = request_.starts->find(StartPart::Front, front_key_);
        if (front_ != nullptr && !fits(*front_, n_front, front_layers_)) front_ = nullptr;
    }
    if (front_ != nullptr) result_.n_front_found = n_front;
    if (prefix_ != nullptr) result_.n_prefix_found = n_prefix;
    if (front_ != nullptr && front_layers_ == n_blocks) result_.n_prefix_found = n_front;
    result_.front = front_;
    if (prefix_ == nullptr && front_ == nullptr && !prefix_key_.empty()) {
        taken_ = std::make_shared<PromptStart>();
        taken_->n_rows = n_prefix;
        taken_->layers.resize(n_blocks);
    }
}

bool PrefillRun::fits(const PromptStart& start, std::size_t n_rows, std::size_t n_layers) const {
    const model::TextModel& model = workspace_.model();
    const std::size_t n_cells = sequence_.kv().cell_bytes(n_rows);
    const std::size_t n_values = n_rows * static_cast<std::size_t>(model.config().width);
    const bool is_prefix = n_layers == model.weights().blocks.size() && n_rows == start_rows_.n_prefix;
    bool is_right = start.n_rows == n_rows && start.layers.size() == n_layers;
    for (std::size_t i = 0; is_right && i < n_layers; ++i) {
        const PromptStart::Layer& layer = start.layers[i];
        is_right = layer.keys.size() == n_cells && layer.values.size() == n_cells &&
                   (!is_prefix || i == 0 || layer.hidden.size() == n_values);
    }
    const bool ends_inside = n_layers < model.weights().blocks.size();
    return is_right && (!ends_inside || start.behind.size() == n_values);
}

const PromptStart* PrefillRun::known() const {
    return front_ != nullptr && next_ < front_layers_ ? front_.get() : prefix_.get();
}

void PrefillRun::fill_layers(std::size_t last) {
    for (std::size_t layer = next_; layer < last; ++layer) {
        // From the layer on that computes in another way than the prefix was computed, its rows are no longer
        // those that this prompt would have.
        if (prefix_ != nullptr && prefix_->layers[layer].is_precise != is_precise()) prefix_ = nullptr;
        if (taken_ != nullptr) taken_->layers[layer].is_precise = is_precise();
    }
    const PromptStart* start = known();
    if (start == nullptr) return;
    for (std::size_t layer = next_; layer < last; ++layer) {
        sequence_.fill(layer, start->layers[layer].keys, start->layers[layer].values);
    }
}

void PrefillRun::arrive() {
    const std::size_t n_blocks = workspace_.model().weights().blocks.size();
    if (front_ != nullptr && next_ == front_layers_ && next_ < n_blocks && !has_front_) {
        hidden_.set(0, front_->behind);
        has_front_ = true;
    } else if (prefix_ != nullptr && next_ > 0 && next_ < n_blocks) {
        hidden_.set(0, prefix_->layers[next_].hidden);
    }
    keep_front();
}

void PrefillRun::keep_front() {
    if (front_ != nullptr || front_key_.empty() || next_ != front_layers_) return;
    auto front = std::make_shared<PromptStart>();
    front->n_rows = start_rows_.n_front;
    front->layers.resize(front_layers_);
    for (std::size_t layer = 0; layer < front_layers_; ++layer) {
        sequence_.kv().read_cells(layer, static_cast<std::int64_t>(front->n_rows), front->layers[layer].keys,
                                  front->layers[layer].values);
    }
    if (front_layers_ < workspace_.model().weights().blocks.size()) {
        std::vector<std::int32_t> rows(front->n_rows);
        for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int32_t>(i);
        front->behind = hidden_.read(rows);
    }
    front_ = front;
    has_front_ = true;
    result_.front = front_;
    request_.starts->keep(StartPart::Front, front_key_, std::move(front));
}

void PrefillRun::watch_prefix(const model::DecoderGraph& graph, std::size_t layer, ggml_tensor* hidden) {
    if (taken_ == nullptr) return;
    ggml_tensor* rows =
        ggml_cont(graph.context, ggml_view_2d(graph.context, hidden, hidden->ne[0],
                                              static_cast<std::int64_t>(taken_->n_rows), hidden->nb[1], 0));
    ggml_set_output(rows);
    ggml_build_forward_expand(graph.graph, rows);
    watched_.emplace_back(layer + 1, rows);
}

void PrefillRun::read_prefix() {
    for (const auto& [layer, rows] : watched_) taken_->layers[layer].hidden = read_floats(rows);
    watched_.clear();
}

void PrefillRun::keep_prefix() {
    if (taken_ == nullptr) return;
    for (std::size_t layer = 0; layer < taken_->layers.size(); ++layer) {
        sequence_.kv().read_cells(layer, static_cast<std::int64_t>(taken_->n_rows),
                                  taken_->layers[layer].keys, taken_->layers[layer].values);
    }
    request_.starts->keep(StartPart::Prefix, prefix_key_, std::move(taken_));
}

}  // namespace clasp::engine
