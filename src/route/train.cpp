#include "route/train.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "route/random.h"

namespace clasp::route {

namespace {

constexpr std::uint64_t kSeedStep = 1000;  // between the seeds of two rounds

struct Term {
    std::uint32_t row;
    float value;
    bool lexical;
};

struct Vocabulary {
    std::vector<std::uint32_t> ids;  // ascending
    std::unordered_map<std::uint32_t, std::uint32_t> rows;
};

Vocabulary build_vocabulary(std::span<const Example> examples, std::uint32_t min_count) {
    std::unordered_map<std::uint32_t, std::uint32_t> counts;
    for (const Example& example : examples) {
        for (const Feature& feature : example.features) ++counts[feature.id];
    }
    Vocabulary vocabulary;
    for (const auto& [id, count] : counts) {
        if (count >= min_count) vocabulary.ids.push_back(id);
    }
    std::sort(vocabulary.ids.begin(), vocabulary.ids.end());
    for (std::size_t i = 0; i < vocabulary.ids.size(); ++i) {
        vocabulary.rows.emplace(vocabulary.ids[i], static_cast<std::uint32_t>(i));
    }
    return vocabulary;
}

// AdaGrad with one step size per feature. Rows are padded to whole vectors of the machine.
class Fit {
   public:
    Fit(std::size_t n_rows, std::size_t n_intents, std::uint64_t seed, const TrainOptions& options)
        : options_(options),
          n_(n_intents),
          stride_((n_intents + 15) / 16 * 16),
          weights_(n_rows * stride_, 0.0f),
          squares_(n_rows, 1e-3f),
          beliefs_(stride_),
          errors_(stride_),
          random_(seed) {}

    void run(const std::vector<std::vector<Term>>& terms, std::span<const Example> examples) {
        for (int i = 0; i < options_.epochs; ++i) {
            const float progress = static_cast<float>(i) / static_cast<float>(options_.epochs);
            epoch(terms, examples, options_.learning_rate * (1.0f - progress));
        }
    }

    // The scores of the mean of two tables are the mean of their scores.
    void add(const Fit& other, float share) {
        for (std::size_t i = 0; i < weights_.size(); ++i) weights_[i] += share * other.weights_[i];
    }

    [[nodiscard]] float weight(std::size_t row, std::size_t intent) const {
        return weights_[row * stride_ + intent];
    }

   private:
    void epoch(const std::vector<std::vector<Term>>& terms, std::span<const Example> examples, float rate) {
        std::vector<std::uint32_t> order(terms.size());
        std::iota(order.begin(), order.end(), 0u);
        for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.next() % i]);
        for (const std::uint32_t at : order) step(terms[at], examples[at], rate);
    }

    void step(const std::vector<Term>& terms, const Example& example, float rate) {
        live_.clear();
        for (const Term& term : terms) {
            const float drop = term.lexical ? options_.word_dropout : options_.frame_dropout;
            if (random_.unit() < drop) continue;
            live_.push_back({term.row, term.value / (1.0f - drop), term.lexical});
        }
        std::fill(beliefs_.begin(), beliefs_.end(), 0.0f);
        for (const Term& term : live_) {
            const float* w = weights_.data() + std::size_t{term.row} * stride_;
            for (std::size_t k = 0; k < stride_; ++k) beliefs_[k] += term.value * w[k];
        }
        softmax();
        const float squared = set_errors(example);
        for (const Term& term : live_) {
            float* w = weights_.data() + std::size_t{term.row} * stride_;
            float& s = squares_[term.row];
            s += squared * term.value * term.value;
            const float size = rate / std::sqrt(s);
            const float keep = 1.0f - size * options_.decay;
            const float move = size * term.value;
            for (std::size_t k = 0; k < stride_; ++k) w[k] = keep * w[k] - move * errors_[k];
        }
    }

    // Belief minus label, times the line's weight; returns the sum of squares. The label is the
    // model's own belief restricted to the intents that the line allows.
    float set_errors(const Example& example) {
        float mass = 0.0f;
        float n_allowed = 0.0f;
        for (std::size_t k = 0; k < n_; ++k) {
            if (!example.allowed[k]) continue;
            mass += beliefs_[k];
            n_allowed += 1.0f;
        }
        const float even = options_.smoothing / static_cast<float>(n_);
        float squared = 0.0f;
        for (std::size_t k = 0; k < n_; ++k) {
            float share = 0.0f;
            if (example.allowed[k]) share = mass > 1e-12f ? beliefs_[k] / mass : 1.0f / n_allowed;
            errors_[k] = example.weight * (beliefs_[k] - (1.0f - options_.smoothing) * share - even);
            squared += errors_[k] * errors_[k];
        }
        return squared;
    }

    void softmax() {
        const auto end = beliefs_.begin() + static_cast<std::ptrdiff_t>(n_);
        const float top = *std::max_element(beliefs_.begin(), end);
        float sum = 0.0f;
        for (auto value = beliefs_.begin(); value != end; ++value) sum += * value = std::exp(*value - top);
        for (auto value = beliefs_.begin(); value != end; ++value) *value /= sum;
    }

    const TrainOptions& options_;
    std::size_t n_;
    std::size_t stride_;
    std::vector<float> weights_;
    std::vector<float> squares_;
    std::vector<float> beliefs_;
    std::vector<float> errors_;  // the padding stays zero
    std::vector<Term> live_;
    Random random_;
};

// Keeps the rows with the largest entries and rounds them to 127 steps of the largest weight.
Model quantise(const std::vector<std::uint32_t>& ids, const Fit& fit,
               const std::vector<std::string>& intent_names, std::size_t max_features) {
    const std::size_t n = intent_names.size();
    std::vector<float> strength(ids.size(), 0.0f);
    float top = 0.0f;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        for (std::size_t k = 0; k < n; ++k) strength[i] = std::max(strength[i], std::abs(fit.weight(i, k)));
        top = std::max(top, strength[i]);
    }
    float least = 0.0f;
    if (ids.size() > max_features) {
        std::vector<float> sorted = strength;
        std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(max_features),
                         sorted.end(), std::greater<>());
        least = sorted[max_features];
    }
    const float step = top > 0.0f ? top / 127.0f : 1.0f;
    std::vector<std::uint32_t> kept;
    std::vector<std::int8_t> table;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (strength[i] <= least || strength[i] < 0.5f * step) continue;
        kept.push_back(ids[i]);
        for (std::size_t k = 0; k < n; ++k) {
            table.push_back(static_cast<std::int8_t>(std::lround(fit.weight(i, k) / step)));
        }
    }
    return {intent_names, std::move(kept), std::move(table), step};
}

}  // namespace

Result<Model> train(std::span<const Example> examples, const std::vector<std::string>& intent_names,
                    const TrainOptions& options) {
    if (examples.empty() || intent_names.empty()) {
        return Status(Code::InvalidArgument, "training needs at least one labelled question and one intent");
    }
    for (const Example& example : examples) {
        if (example.allowed.size() != intent_names.size() ||
            std::find(example.allowed.begin(), example.allowed.end(), true) == example.allowed.end()) {
            return Status(Code::InvalidArgument, "a training question allows none of the intents");
        }
    }
    const Vocabulary vocabulary = build_vocabulary(examples, options.min_count);
    std::vector<std::vector<Term>> terms(examples.size());
    for (std::size_t i = 0; i < examples.size(); ++i) {
        for (const Feature& feature : examples[i].features) {
            const auto found = vocabulary.rows.find(feature.id);
            if (found != vocabulary.rows.end())
                terms[i].push_back({found->second, feature.value, feature.lexical});
        }
    }
    // One run depends on the order in which it happened to meet the examples; the mean of several less so.
    Fit mean(vocabulary.ids.size(), intent_names.size(), options.seed, options);
    for (int round = 0; round < options.rounds; ++round) {
        Fit fit(vocabulary.ids.size(), intent_names.size(),
                options.seed + kSeedStep * static_cast<std::uint64_t>(round), options);
        fit.run(terms, examples);
        mean.add(fit, 1.0f / static_cast<float>(options.rounds));
    }
    return quantise(vocabulary.ids, mean, intent_names, options.max_features);
}

}  // namespace clasp::route
