#include "model/patch_order.h"

#include <algorithm>

namespace clasp::model {

std::vector<TokenWindow> token_windows(const Grid& tokens, std::size_t side) {
    std::vector<TokenWindow> windows;
    for (std::size_t row = 0; row < tokens.height; row += side) {
        for (std::size_t column = 0; column < tokens.width; column += side) {
            windows.push_back(
                {row, column, {std::min(side, tokens.height - row), std::min(side, tokens.width - column)}});
        }
    }
    return windows;
}

PatchOrder patch_order(const PieceShape& shape, std::size_t window) {
    const Grid tokens = shape.tokens();
    const std::size_t side = window != 0 ? window : std::max(tokens.height, tokens.width);
    std::vector<TokenWindow> windows = token_windows(tokens, side);
    // Whole windows, those at the right, at the bottom, and the corner.
    const auto kind = [&](const TokenWindow& at) {
        return (at.size.height < side ? 2 : 0) + (at.size.width < side ? 1 : 0);
    };
    std::stable_sort(windows.begin(), windows.end(),
                     [&](const TokenWindow& a, const TokenWindow& b) { return kind(a) < kind(b); });
    const std::size_t merge = shape.merge;
    PatchOrder order;
    order.rows.reserve(shape.n_patches());
    for (std::size_t i = 0; i < windows.size(); ++i) {
        const TokenWindow& at = windows[i];
        if (i == 0 || kind(at) != kind(windows[i - 1])) {
            order.windows.push_back({order.rows.size(), at.size.height * at.size.width * merge * merge, 0});
        }
        ++order.windows.back().n_windows;
        for (std::size_t token = 0; token < at.size.height * at.size.width; ++token) {
            const std::size_t y = at.row + token / at.size.width;
            const std::size_t x = at.column + token % at.size.width;
            order.tokens.push_back(static_cast<std::int32_t>(y * tokens.width + x));
            for (std::size_t patch = 0; patch < merge * merge; ++patch) {
                order.rows.push_back({static_cast<std::int32_t>(y * merge + patch / merge),
                                      static_cast<std::int32_t>(x * merge + patch % merge)});
            }
        }
    }
    return order;
}

std::vector<std::int32_t> groups_of_tokens(const PatchOrder& order) {
    std::vector<std::int32_t> groups(order.tokens.size());
    for (std::size_t group = 0; group < groups.size(); ++group) {
        groups[static_cast<std::size_t>(order.tokens[group])] = static_cast<std::int32_t>(group);
    }
    return groups;
}

}  // namespace clasp::model
