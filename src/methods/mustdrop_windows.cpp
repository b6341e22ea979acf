#include "methods/mustdrop_windows.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "methods/ranking.h"

namespace clasp::methods {
namespace {

struct WindowGrid {
    std::size_t rows;
    std::size_t columns;
    std::size_t window;

    [[nodiscard]] std::size_t windows() const { return rows / window * (columns / window); }
    // Patches of window w in raster order.
    [[nodiscard]] std::vector<TokenIndex> patches(std::size_t w) const {
        const std::size_t per_row = columns / window;
        std::vector<TokenIndex> result;
        for (std::size_t row = 0; row < window; ++row) {
            for (std::size_t column = 0; column < window; ++column) {
                result.push_back(static_cast<TokenIndex>((w / per_row * window + row) * columns +
                                                         w % per_row * window + column));
            }
        }
        return result;
    }
};

Status check_input(const GramView& gram, std::size_t rows, std::size_t columns,
                   const MustdropWindows& options) {
    CLASP_RETURN_IF_ERROR(check_budget(1, gram.rows));
    CLASP_RETURN_IF_ERROR(check_cosines(gram, gram.rows));
    if (rows * columns != gram.rows) {
        return {Code::InvalidArgument, "a grid of " + std::to_string(rows) + " x " + std::to_string(columns) +
                                           " does not hold " + std::to_string(gram.rows) + " patches"};
    }
    if (options.window < 2 || rows % options.window != 0 || columns % options.window != 0) {
        return {Code::Unsupported, "a grid of " + std::to_string(rows) + " x " + std::to_string(columns) +
                                       " does not divide into windows of side " +
                                       std::to_string(options.window)};
    }
    const std::size_t n_windows = gram.rows / (options.window * options.window);
    if (options.count && *options.count > n_windows) {
        return {Code::InvalidArgument, "there are " + std::to_string(n_windows) + " windows, so that " +
                                           std::to_string(*options.count) + " cannot be merged"};
    }
    return ok_status();
}

// Mean similarity of the pairs of different patches.
float window_score(const GramView& gram, std::span<const TokenIndex> patches) {
    double sum = 0;
    for (const TokenIndex a : patches) {
        for (const TokenIndex b : patches) {
            if (a != b) sum += static_cast<double>(gram.data[a * gram.stride + b]);
        }
    }
    const auto n = static_cast<double>(patches.size());
    return static_cast<float>(sum / (n * (n - 1.0)));
}

}  // namespace

Result<Plan> mustdrop_merge(const GramView& gram, std::size_t rows, std::size_t columns,
                            const MustdropWindows& options) {
    CLASP_RETURN_IF_ERROR(check_input(gram, rows, columns, options));
    const WindowGrid grid = {rows, columns, options.window};
    std::vector<float> scores(grid.windows());
    for (std::size_t w = 0; w < scores.size(); ++w) scores[w] = window_score(gram, grid.patches(w));

    Plan plan;
    std::vector<TokenIndex> merged;
    std::size_t n_merged = 0;
    for (const TokenIndex w : ranked(scores)) {
        const bool is_merged =
            options.count ? n_merged < *options.count : static_cast<double>(scores[w]) >= options.threshold;
        if (!is_merged) break;
        const std::vector<TokenIndex> patches = grid.patches(w);
        std::vector<MergeSource> sources;
        for (const TokenIndex patch : patches) {
            sources.push_back({patch, 1.0F / static_cast<float>(patches.size())});
        }
        plan.merge(patches.back(), sources);
        merged.insert(merged.end(), patches.begin(), patches.end());
        ++n_merged;
    }
    if (merged.empty()) return keep_all_tokens(gram.rows);
    std::sort(merged.begin(), merged.end());
    for (const TokenIndex patch : others(gram.rows, merged)) plan.keep(patch, Reason::Coverage);
    return plan;
}

Result<std::vector<TokenIndex>> mustdrop_key_tokens(std::span<const float> class_attention, double share) {
    CLASP_RETURN_IF_ERROR(check_budget(1, class_attention.size()));
    CLASP_RETURN_IF_ERROR(check_scores(class_attention, class_attention.size(), "class attention"));
    if (!(share >= 0.0 && share <= 1.0)) {
        return Status(Code::InvalidArgument,
                      "the share of key tokens " + std::to_string(share) + " is outside [0, 1]");
    }
    const double exact = share * static_cast<double>(class_attention.size());
    return highest(class_attention, static_cast<std::size_t>(std::ceil(exact - 1e-9)));
}

}  // namespace clasp::methods
