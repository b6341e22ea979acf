#include "route/calibrate.h"

#include <algorithm>
#include <cmath>

namespace clasp::route {

namespace {

struct Judged {
    float confidence;
    bool right;
};

// Mean of -ln p(right intents) over the questions.
double mean_loss(const std::vector<UnseenQuestion>& unseen, double temperature) {
    double total = 0.0;
    for (const UnseenQuestion& question : unseen) {
        const auto top =
            static_cast<double>(*std::max_element(question.logits.begin(), question.logits.end()));
        double sum = 0.0;
        double right = 0.0;
        for (std::size_t k = 0; k < question.logits.size(); ++k) {
            const double e = std::exp((static_cast<double>(question.logits[k]) - top) / temperature);
            sum += e;
            if (question.allowed[k]) right += e;
        }
        total -= std::log(std::max(right / sum, 1e-12));
    }
    return total / static_cast<double>(unseen.size());
}

// Golden-section search on the logarithm; the loss has one valley there.
float best_temperature(const std::vector<UnseenQuestion>& unseen) {
    constexpr double kRatio = 0.6180339887498949;
    double low = std::log(0.1);
    double high = std::log(5.0);
    for (int i = 0; i < 24; ++i) {
        const double a = high - kRatio * (high - low);
        const double b = low + kRatio * (high - low);
        if (mean_loss(unseen, std::exp(a)) < mean_loss(unseen, std::exp(b))) {
            high = b;
        } else {
            low = a;
        }
    }
    return static_cast<float>(std::exp(0.5 * (low + high)));
}

// Up to whole hundredths, so that what lies below stays below.
float hundredths(float confidence) {
    return std::min(1.0f, std::ceil(confidence * 100.0f) / 100.0f);
}

void sort_surest_first(std::vector<Judged>& judged) {
    std::sort(judged.begin(), judged.end(),
              [](const Judged& a, const Judged& b) { return a.confidence > b.confidence; });
}

// The least confidence above which no more than `most` are wrong.
float threshold_for_errors(std::vector<Judged> judged, double most) {
    sort_surest_first(judged);
    double errors = 0.0;
    for (const Judged& j : judged) {
        errors += j.right ? 0.0 : 1.0;
        if (errors > most) return hundredths(j.confidence);
    }
    return judged.empty() ? 0.0f : std::floor(judged.back().confidence * 100.0f) / 100.0f;
}

// The least confidence above which no more than `most` of the claims are wrong.
float threshold_for_share(std::vector<Judged> judged, double most) {
    sort_surest_first(judged);
    double errors = 0.0;
    float best = 1.0f;
    for (std::size_t i = 0; i < judged.size(); ++i) {
        errors += judged[i].right ? 0.0 : 1.0;
        const bool is_last_of_equals =
            i + 1 == judged.size() || judged[i + 1].confidence < judged[i].confidence;
        if (is_last_of_equals && errors <= most * static_cast<double>(i + 1)) best = judged[i].confidence;
    }
    return std::floor(best * 100.0f) / 100.0f;
}

std::vector<float> class_probabilities(const UnseenQuestion& question, float temperature,
                                       const Taxonomy& taxonomy) {
    const float top = *std::max_element(question.logits.begin(), question.logits.end());
    std::vector<float> by_class(taxonomy.classes.size(), 0.0f);
    float sum = 0.0f;
    for (std::size_t k = 0; k < question.logits.size(); ++k) {
        const float e = std::exp((question.logits[k] - top) / temperature);
        by_class[taxonomy.class_of_intent(k)] += e;
        sum += e;
    }
    for (float& p : by_class) p /= sum;
    return by_class;
}

}  // namespace

Calibration calibrate(const std::vector<UnseenQuestion>& unseen, const Taxonomy& taxonomy) {
    Calibration result;
    if (unseen.empty()) return result;
    result.temperature = best_temperature(unseen);
    const std::size_t default_index = *taxonomy.class_index(taxonomy.default_class);
    std::vector<Judged> others;
    std::vector<Judged> defaults;
    for (const UnseenQuestion& question : unseen) {
        const std::vector<float> p = class_probabilities(question, result.temperature, taxonomy);
        const auto top = static_cast<std::size_t>(std::max_element(p.begin(), p.end()) - p.begin());
        (top == default_index ? defaults : others).push_back({p[top], top == question.true_class});
    }
    const double n_errors = kMostErrors * static_cast<double>(unseen.size());
    result.threshold = threshold_for_errors(std::move(others), n_errors);
    result.default_threshold =
        std::max(result.threshold, threshold_for_share(std::move(defaults), kMostDefaultErrors));
    return result;
}

}  // namespace clasp::route
