#include "methods/cdpruner.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "methods/methods.h"
#include "methods/ranking.h"
#include "select/gram.h"
#include "select/kernels/kernels.h"

namespace clasp::methods {
namespace {

// Part of its own diagonal under which what is left of a token is rounding of single-precision cosines.
constexpr double kSpanned = 1e-6;

// Relevance as the kernel takes it: from 0 on, the largest about 1; 1 everywhere when all are equal.
std::vector<double> scaled_relevance(std::span<const float> relevance, const CdprunerOptions& options) {
    const auto [least, most] = std::minmax_element(relevance.begin(), relevance.end());
    const double low = static_cast<double>(*least);
    const double range = static_cast<double>(*most) - low;
    constexpr double kTiny = 1e-6;
    std::vector<double> scaled;
    for (const float value : relevance) {
        const double r = range > 0 ? (static_cast<double>(value) - low + kTiny) / range : 1.0;
        if (options.relevance_weight) {
            const double sharpness = *options.relevance_weight / (2.0 * (1.0 - *options.relevance_weight));
            scaled.push_back(std::exp(sharpness * r));
        } else {
            scaled.push_back(r);
        }
    }
    return scaled;
}

// The greedy choice. A row of factors belongs to each chosen token; what is left of a token is its diagonal
// less the squares of its factors.
class Greedy {
   public:
    Greedy(const GramView& gram, std::span<const double> relevance)
        : gram_(gram), relevance_(relevance), diagonal_(gram.rows) {
        for (std::size_t i = 0; i < gram.rows; ++i) diagonal_[i] = kernel(i, i);
        left_ = diagonal_;
        is_chosen_.assign(gram.rows, false);
    }

    // The token of which most is left, or none when all are spanned.
    [[nodiscard]] std::optional<TokenIndex> best() const {
        std::optional<TokenIndex> best;
        for (TokenIndex i = 0; i < gram_.rows; ++i) {
            if (is_chosen_[i] || left_[i] <= kSpanned * diagonal_[i]) continue;
            if (!best || left_[i] > left_[*best]) best = i;
        }
        return best;
    }

    void choose(TokenIndex token) {
        const std::size_t n = gram_.rows;
        std::vector<double> factors(n);
        for (std::size_t i = 0; i < n; ++i) factors[i] = kernel(token, i);
        for (const std::vector<double>& earlier : rows_) {
            const double own = earlier[token];
            for (std::size_t i = 0; i < n; ++i) factors[i] -= own * earlier[i];
        }
        const double scale = 1.0 / std::sqrt(left_[token]);
        for (std::size_t i = 0; i < n; ++i) {
            factors[i] *= scale;
            left_[i] -= factors[i] * factors[i];
        }
        is_chosen_[token] = true;
        rows_.push_back(std::move(factors));
    }

    [[nodiscard]] bool is_chosen(TokenIndex token) const { return is_chosen_[token]; }

   private:
    [[nodiscard]] double kernel(std::size_t i, std::size_t j) const {
        return relevance_[i] * static_cast<double>(gram_.data[i * gram_.stride + j]) * relevance_[j];
    }

    GramView gram_;
    std::span<const double> relevance_;
    std::vector<double> diagonal_;
    std::vector<double> left_;
    std::vector<bool> is_chosen_;
    std::vector<std::vector<double>> rows_;
};

Status check_options(const CdprunerOptions& options) {
    if (!options.relevance_weight || (*options.relevance_weight >= 0.0 && *options.relevance_weight < 1.0)) {
        return ok_status();
    }
    return {Code::InvalidArgument,
            "the weight of relevance " + std::to_string(*options.relevance_weight) + " is not in [0, 1)"};
}

// One over the length of each row, 0 for a zero vector.
Result<std::vector<double>> inverse_lengths(const FeatureView& rows, std::string_view what) {
    CLASP_RETURN_IF_ERROR(selection::check_features(rows));
    std::vector<double> inverse(rows.rows);
    for (std::size_t i = 0; i < rows.rows; ++i) {
        const double square =
            selection::active_kernels().squared_norm(rows.data + i * rows.stride, rows.width);
        if (!std::isfinite(square)) {
            return Status(Code::InvalidArgument, "the features of " + std::string(what) + " token " +
                                                     std::to_string(i) + " hold NaN or infinity");
        }
        inverse[i] = square == 0.0 ? 0.0 : 1.0 / std::sqrt(square);
    }
    return inverse;
}

}  // namespace

Result<std::vector<float>> cdpruner_relevance(const FeatureView& tokens, const FeatureView& text,
                                              float sign) {
    if (tokens.width != text.width) {
        return Status(Code::InvalidArgument, "visual tokens of width " + std::to_string(tokens.width) +
                                                 " cannot be compared with text of width " +
                                                 std::to_string(text.width));
    }
    CLASP_ASSIGN_OR_RETURN(const std::vector<double> token_scale, inverse_lengths(tokens, "visual"));
    CLASP_ASSIGN_OR_RETURN(const std::vector<double> text_scale, inverse_lengths(text, "text"));
    // The mean of cosines is one product with the mean of the unit vectors of the text.
    std::vector<double> direction(text.width, 0.0);
    for (std::size_t t = 0; t < text.rows; ++t) {
        const float* row = text.data + t * text.stride;
        const double scale = text_scale[t] / static_cast<double>(text.rows);
        for (std::size_t c = 0; c < text.width; ++c) direction[c] += scale * static_cast<double>(row[c]);
    }
    std::vector<float> relevance(tokens.rows);
    for (std::size_t i = 0; i < tokens.rows; ++i) {
        const float* row = tokens.data + i * tokens.stride;
        double sum = 0;
        for (std::size_t c = 0; c < tokens.width; ++c) sum += direction[c] * static_cast<double>(row[c]);
        relevance[i] = sign * static_cast<float>(sum * token_scale[i]);
    }
    return relevance;
}

Result<Plan> cdpruner(const GramView& gram, std::span<const float> relevance, std::size_t keep,
                      const CdprunerOptions& options) {
    CLASP_RETURN_IF_ERROR(check_budget(keep, gram.rows));
    CLASP_RETURN_IF_ERROR(check_cosines(gram, gram.rows));
    CLASP_RETURN_IF_ERROR(check_scores(relevance, gram.rows, "relevance"));
    CLASP_RETURN_IF_ERROR(check_options(options));
    if (keep >= gram.rows) return keep_all_tokens(gram.rows);

    const std::vector<double> scaled = scaled_relevance(relevance, options);
    Greedy greedy(gram, scaled);
    std::vector<TokenIndex> chosen;
    while (chosen.size() < keep) {
        const std::optional<TokenIndex> token = greedy.best();
        if (!token) break;
        greedy.choose(*token);
        chosen.push_back(*token);
    }
    for (const TokenIndex token : ranked(relevance)) {
        if (chosen.size() == keep) break;
        if (!greedy.is_chosen(token)) chosen.push_back(token);
    }
    return keep_tokens(std::move(chosen), Reason::Coverage);
}

namespace {

class CdprunerRun : public MethodRun {
   public:
    CdprunerRun(const Setup& setup, std::size_t entering) {
        options_.relevance_weight = setup.settings.number("relevance");
        program_.encoder.gram = true;
        program_.encoder.text = true;
        program_.has_after_projector = true;
        program_.entering = entering;
        program_.positions = PositionMode::Compact;
        program_.notes.emplace_back(
            "cdpruner compares the picture with the question in the decoder's embeddings, because the model "
            "has no CLIP text tower");
    }

    Status after_projector(const ImageInput& input, Plan& plan) override {
        // Without a question nothing is more relevant than anything else.
        std::vector<float> relevance(input.features.rows, 1.0F);
        if (input.text.rows > 0) {
            CLASP_ASSIGN_OR_RETURN(relevance, cdpruner_relevance(input.features, input.text, 1.0F));
        }
        CLASP_ASSIGN_OR_RETURN(plan, cdpruner(input.gram, relevance, input.keep, options_));
        return ok_status();
    }

   private:
    CdprunerOptions options_;
};

Result<std::unique_ptr<MethodRun>> start(const Setup& setup) {
    CLASP_ASSIGN_OR_RETURN(const std::size_t entering, entering_count(setup.budget, "cdpruner"));
    return std::unique_ptr<MethodRun>(new CdprunerRun(setup, entering));
}

}  // namespace

Method cdpruner_method() {
    return {.name = "cdpruner",
            .summary = "tokens that differ from each other and matter to the question",
            .paper =
                "Beyond Attention or Similarity: Maximizing Conditional Diversity for Token Pruning in MLLMs "
                "(NeurIPS 2025)",
            .options = {{.name = "relevance",
                         .help = "weight of the question against variety",
                         .fallback = "0.5",
                         .type = OptionSpec::Type::Number,
                         .min = 0,
                         .max = 0.99}},
            .start = start};
}

}  // namespace clasp::methods
