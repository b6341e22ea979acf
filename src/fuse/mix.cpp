#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/text.h"
#include "clasp/fuse.h"

namespace clasp {
namespace {

Status bad_mix(std::string message) {
    return {Code::InvalidArgument, std::move(message)};
}

Status check_tau(double tau) {
    if (std::isfinite(tau) && tau > 0.0) return {};
    return bad_mix("tau is " + base::format_exact(tau) + ", not a finite number above 0");
}

// Rising layers, none twice.
template <typename Entry>
Result<std::vector<Entry>> sorted_by_layer(std::span<const Entry> entries) {
    std::vector<Entry> sorted(entries.begin(), entries.end());
    std::sort(sorted.begin(), sorted.end(), [](const Entry& a, const Entry& b) { return a.layer < b.layer; });
    for (std::size_t i = 1; i < sorted.size(); ++i) {
        if (sorted[i].layer == sorted[i - 1].layer) {
            return bad_mix("layer " + std::to_string(sorted[i].layer) + " is named twice in a mix");
        }
    }
    return sorted;
}

Mix without_zeros(Mix mix) {
    std::erase_if(mix, [](const LayerWeight& entry) { return entry.weight == 0.0; });
    return mix;
}

}  // namespace

Result<std::vector<double>> softmax(std::span<const double> scores, double tau) {
    CLASP_RETURN_IF_ERROR(check_tau(tau));
    double largest = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < scores.size(); ++i) {
        if (std::isnan(scores[i]) || scores[i] == std::numeric_limits<double>::infinity()) {
            return bad_mix("score " + std::to_string(i) + " is " + base::format_exact(scores[i]) +
                           ", not a finite number or minus infinity");
        }
        largest = std::max(largest, scores[i]);
    }
    if (!std::isfinite(largest)) return bad_mix("a softmax needs at least one score above minus infinity");
    std::vector<double> weights(scores.size());
    double sum = 0.0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
        // The difference first: it cannot overflow to the plus side, whatever tau is.
        weights[i] = std::exp(tau * (scores[i] - largest));
        sum += weights[i];
    }
    for (double& weight : weights) weight /= sum;
    return weights;
}

Result<Mix> mix_from_scores(std::span<const LayerScore> scores, double tau) {
    CLASP_ASSIGN_OR_RETURN(const std::vector<LayerScore> sorted, sorted_by_layer(scores));
    std::vector<double> values;
    for (const LayerScore& entry : sorted) values.push_back(entry.score);
    CLASP_ASSIGN_OR_RETURN(const std::vector<double> weights, softmax(values, tau));
    Mix mix;
    for (std::size_t i = 0; i < sorted.size(); ++i) mix.push_back({sorted[i].layer, weights[i]});
    return without_zeros(std::move(mix));
}

Result<Mix> mix_from_weights(std::span<const LayerWeight> weights, double tau) {
    CLASP_RETURN_IF_ERROR(check_tau(tau));
    CLASP_ASSIGN_OR_RETURN(Mix mix, sorted_by_layer(weights));
    double sum = 0.0;
    for (const LayerWeight& entry : mix) {
        if (!std::isfinite(entry.weight) || entry.weight < 0.0) {
            return bad_mix("the weight of layer " + std::to_string(entry.layer) + " is " +
                           base::format_exact(entry.weight) + ", not a finite number of at least 0");
        }
        sum += entry.weight;
    }
    if (sum == 0.0) return bad_mix("a mix needs at least one weight above 0");
    // softmax(ln p) = p / sum p. Weights that already sum to 1 are not divided, so that they come back bit
    // for bit.
    if (tau == 1.0 && std::abs(sum - 1.0) <= 1e-9) return without_zeros(std::move(mix));
    std::vector<LayerScore> scores;
    for (const LayerWeight& entry : mix) scores.push_back({entry.layer, std::log(entry.weight)});
    return mix_from_scores(scores, tau);
}

Result<Mix> parse_mix(std::string_view text) {
    std::vector<LayerWeight> weights;
    double sum = 0.0;
    for (const std::string_view piece : base::split(text, ',')) {
        const std::size_t colon = piece.find(':');
        const auto layer = base::parse_size(piece.substr(0, colon));
        const auto weight =
            colon == std::string_view::npos ? std::nullopt : base::parse_double(piece.substr(colon + 1));
        if (!layer || !weight) {
            return bad_mix("mix piece " + base::in_quotes(piece) + " is not LAYER:WEIGHT, such as 22:0.8");
        }
        weights.push_back({*layer, *weight});
        sum += *weight;
    }
    CLASP_ASSIGN_OR_RETURN(Mix mix, mix_from_weights(weights, 1.0));
    if (std::abs(sum - 1.0) > 1e-6) {
        return bad_mix("the weights of mix " + base::in_quotes(text) + " sum to " +
                       base::format_number(sum, 6) + ", not 1");
    }
    return mix;
}

}  // namespace clasp
