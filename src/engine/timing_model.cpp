#include "engine/timing_model.h"

#include <algorithm>

namespace clasp::engine {

namespace {

// What a prompt still weighs when the next one comes: about the last ten count.
constexpr double kFading = 0.9;
// Lengths that vary by less than this share of their mean tell nothing about the fixed part.
constexpr double kLeastSpread = 0.5;

}  // namespace

double tokens_computed(const Answer& answer, std::size_t n_layers) {
    const HistoryReport& history = answer.history;
    const double all = static_cast<double>(answer.tokens.text) + answer.tokens.average;
    const auto found = static_cast<double>(history.n_tokens);
    double before_stage = 0.0;
    if (history.n_front_tokens > history.n_tokens && !answer.stages.empty()) {
        const auto layer = std::find_if(answer.stages.begin(), answer.stages.end(),
                                        [](const StageReport& stage) { return stage.site == "decoder"; });
        const double n_before = layer == answer.stages.end() ? 0.0 : static_cast<double>(layer->layer);
        before_stage = static_cast<double>(history.n_front_tokens - history.n_tokens) * n_before /
                       static_cast<double>(n_layers);
    }
    return std::max(0.0, all - found - before_stage);
}

void TimingModel::learn_reading(double tokens_per_layer, double ms) {
    if (!(tokens_per_layer > 0.0) || !(ms > 0.0)) return;
    const std::lock_guard lock(mutex_);
    for (double* sum : {&n_, &t_, &tt_, &ms_, &tms_}) *sum *= kFading;
    n_ += 1.0;
    t_ += tokens_per_layer;
    tt_ += tokens_per_layer * tokens_per_layer;
    ms_ += ms;
    tms_ += tokens_per_layer * ms;
    ++n_prompts_;
}

void TimingModel::learn_encoding(double ms) {
    if (!(ms > 0.0)) return;
    const std::lock_guard lock(mutex_);
    encode_ = encode_ ? kFading * *encode_ + (1.0 - kFading) * ms : ms;
}

std::optional<TimingFigures> TimingModel::figures() const {
    const std::lock_guard lock(mutex_);
    if (n_prompts_ == 0) return std::nullopt;
    TimingFigures figures = {
        .per_prompt = 0.0, .per_token = tms_ / tt_, .encode = encode_, .n_prompts = n_prompts_};
    const double mean = t_ / n_;
    const double variance = tt_ / n_ - mean * mean;
    if (variance > kLeastSpread * kLeastSpread * mean * mean) {
        const double slope = (tms_ / n_ - mean * ms_ / n_) / variance;
        const double fixed = ms_ / n_ - slope * mean;
        if (slope > 0.0 && fixed > 0.0) {
            figures.per_prompt = fixed;
            figures.per_token = slope;
        }
    }
    return figures;
}

}  // namespace clasp::engine
