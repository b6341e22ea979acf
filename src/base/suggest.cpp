#include "base/suggest.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace clasp::base {

namespace {

// Longer texts are no mistyped names, and the table below is quadratic.
constexpr std::size_t kLongestName = 64;
constexpr std::size_t kShortestPrefix = 3;

}  // namespace

std::size_t edit_distance(std::string_view first, std::string_view second) {
    const std::string a = lower(first);
    const std::string b = lower(second);
    // Three rows of the table: two rows up for swaps.
    std::vector<std::size_t> before(b.size() + 1);
    std::vector<std::size_t> above(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({replaced, above[j] + 1, row[j - 1] + 1});
            const bool is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (is_swap) row[j] = std::min(row[j], before[j - 2] + 1);
        }
        std::swap(before, above);
        std::swap(above, row);
    }
    return above[b.size()];
}

bool is_same_name(std::string_view a, std::string_view b) {
    return lower(a) == lower(b);
}

std::optional<std::string_view> closest_name(std::string_view typed,
                                             std::span<const std::string_view> names) {
    if (typed.empty() || typed.size() > kLongestName) return std::nullopt;
    const std::string wanted = lower(typed);
    std::optional<std::string_view> best;
    std::size_t least = 0;
    for (const std::string_view name : names) {
        if (name.empty() || name.size() > kLongestName) continue;
        std::size_t distance = edit_distance(wanted, name);
        const std::string known = lower(name);
        const bool is_prefix = std::min(wanted.size(), known.size()) >= kShortestPrefix &&
                               (known.starts_with(wanted) || wanted.starts_with(known));
        if (is_prefix) distance = std::min<std::size_t>(distance, 1);
        const std::size_t allowed = std::max<std::size_t>(1, std::max(wanted.size(), known.size()) / 3);
        if (distance > allowed || distance >= known.size()) continue;
        if (best && distance >= least) continue;
        best = name;
        least = distance;
    }
    return best;
}

std::string did_you_mean(std::string_view typed, std::span<const std::string_view> names) {
    const auto name = closest_name(typed, names);
    return name ? " (did you mean '" + std::string(*name) + "'?)" : "";
}

}  // namespace clasp::base
