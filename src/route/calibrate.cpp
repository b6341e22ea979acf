#include "route/calibrate.h"

#include <algorithm>
#include <cmath>

namespace clasp::route {

namespace {

struct Judged {
    float confidence;
    bool right;
    bool truly_default;
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

// The threshold with the least cost.
float best_threshold(std::vector<Judged> judged) {
    std::sort(judged.begin(), judged.end(),
              [](const Judged& a, const Judged& b) { return a.confidence > b.confidence; });
    double errors = 0.0;
    double fallbacks = 0.0;
    for (const Judged& j : judged) fallbacks += j.truly_default ? 0.0 : 1.0;
    double least = kFallbackCost * fallbacks;
    float best = 1.0f;
    for (const Judged& j : judged) {
        errors += j.right ? 0.0 : 1.0;
        fallbacks -= j.truly_default ? 0.0 : 1.0;
        const double cost = errors + kFallbackCost * fallbacks;
        if (cost <= least) {
            least = cost;
            best = j.confidence;
        }
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
    std::vector<Judged> judged;
    judged.reserve(unseen.size());
    for (const UnseenQuestion& question : unseen) {
        const std::vector<float> p = class_probabilities(question, result.temperature, taxonomy);
        const auto top = static_cast<std::size_t>(std::max_element(p.begin(), p.end()) - p.begin());
        judged.push_back({p[top], top == question.true_class, question.true_class == default_index});
    }
    result.threshold = best_threshold(std::move(judged));
    return result;
}

}  // namespace clasp::route
