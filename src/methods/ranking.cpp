#include "methods/ranking.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "select/candidates.h"
#include "select/order.h"

namespace clasp::methods {

std::vector<TokenIndex> ranked(std::span<const float> scores) {
    std::vector<TokenIndex> order(scores.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(),
                     [&](TokenIndex a, TokenIndex b) { return scores[a] > scores[b]; });
    return order;
}

std::vector<TokenIndex> highest(std::span<const float> scores, std::size_t count) {
    std::vector<TokenIndex> order;
    selection::first_by(
        scores.size(), count,
        [&](TokenIndex a, TokenIndex b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; },
        order);
    order.resize(count);
    std::sort(order.begin(), order.end());
    return order;
}

std::vector<TokenIndex> others(std::size_t n, std::span<const TokenIndex> chosen) {
    std::vector<TokenIndex> result;
    result.reserve(n - chosen.size());
    auto next = chosen.begin();
    for (TokenIndex token = 0; token < n; ++token) {
        if (next != chosen.end() && *next == token) {
            ++next;
        } else {
            result.push_back(token);
        }
    }
    return result;
}

Plan keep_all_tokens(std::size_t n) {
    Plan plan;
    for (TokenIndex token = 0; token < n; ++token) plan.keep(token, Reason::Coverage);
    return plan;
}

Plan keep_tokens(std::vector<TokenIndex> kept, Reason reason) {
    std::sort(kept.begin(), kept.end());
    Plan plan;
    plan.keep_all_of(kept, reason);
    return plan;
}

Plan keep_tokens(std::span<const TokenIndex> pivots, std::span<const TokenIndex> coverage) {
    std::vector<std::pair<TokenIndex, Reason>> kept;
    for (const TokenIndex token : pivots) kept.emplace_back(token, Reason::Pivot);
    for (const TokenIndex token : coverage) kept.emplace_back(token, Reason::Coverage);
    std::sort(kept.begin(), kept.end());
    Plan plan;
    for (const auto& [token, reason] : kept) plan.keep(token, reason);
    return plan;
}

double quantile(std::span<const float> values, double q) {
    std::vector<float> sorted(values.begin(), values.end());
    std::sort(sorted.begin(), sorted.end());
    const double position = q * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(std::floor(position));
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    const double low = static_cast<double>(sorted[below]);
    return low + (position - std::floor(position)) * (static_cast<double>(sorted[above]) - low);
}

Status check_budget(std::size_t keep, std::size_t n_tokens) {
    if (n_tokens == 0) return {Code::InvalidArgument, "there are no tokens to choose from"};
    if (n_tokens > kMaxSelectTokens) {
        return {Code::TooLarge, std::to_string(n_tokens) + " tokens are more than the limit of " +
                                    std::to_string(kMaxSelectTokens)};
    }
    if (keep == 0) return {Code::InvalidArgument, "the budget is 0, but at least 1 token must stay"};
    return ok_status();
}

Status check_scores(std::span<const float> scores, std::size_t n_tokens, std::string_view what) {
    if (scores.size() != n_tokens) {
        return {Code::InvalidArgument, "the " + std::string(what) + " holds " +
                                           std::to_string(scores.size()) + " numbers for " +
                                           std::to_string(n_tokens) + " tokens"};
    }
    for (std::size_t i = 0; i < scores.size(); ++i) {
        if (std::isfinite(scores[i])) continue;
        return {Code::InvalidArgument,
                "the " + std::string(what) + " of token " + std::to_string(i) + " is NaN or infinity"};
    }
    return ok_status();
}

Status check_cosines(const GramView& gram, std::size_t n_tokens) {
    CLASP_RETURN_IF_ERROR(selection::check_gram(gram));
    if (gram.rows != n_tokens) {
        return {Code::InvalidArgument, "the Gram matrix holds " + std::to_string(gram.rows) +
                                           " tokens, not " + std::to_string(n_tokens)};
    }
    SelectWorkspace workspace;
    SelectWorkspace::Buffers& buffers = workspace.buffers();
    buffers.live_rows.resize(n_tokens);
    std::iota(buffers.live_rows.begin(), buffers.live_rows.end(), 0U);
    return selection::check_entries(gram, selection::active_kernels(), nullptr, buffers);
}

}  // namespace clasp::methods
