#include "methods/rows.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace clasp::methods {

Status check_plan(const Plan& plan, std::size_t n_rows, bool has_class_token) {
    const auto fault = [](const std::string& what) {
        return Status(Code::Internal, "the method's plan " + what);
    };
    const auto exists = [&](TokenIndex row) {
        return row < n_rows || (has_class_token && row == kClassToken);
    };
    std::vector<bool> is_taken(n_rows + 1);
    if (plan.reasons.size() != plan.size()) return fault("has not one reason per token");
    for (std::size_t i = 0; i < plan.size(); ++i) {
        const TokenIndex place = plan.kept[i];
        if (!exists(place)) return fault("names row " + std::to_string(place));
        const std::size_t slot = std::min<std::size_t>(place, n_rows);
        if (is_taken[slot]) return fault("has the place " + std::to_string(place) + " twice");
        is_taken[slot] = true;
        for (const MergeSource& source : plan.sources(i)) {
            if (!exists(source.row)) return fault("merges row " + std::to_string(source.row));
            if (!std::isfinite(source.weight)) return fault("has a weight that is not finite");
        }
    }
    return ok_status();
}

std::vector<float> apply_to_rows(const Plan& plan, const FeatureView& rows, const float* class_row) {
    std::vector<float> result(plan.size() * rows.width);
    const auto row = [&](TokenIndex index) {
        return index == kClassToken ? class_row : rows.data + index * rows.stride;
    };
    for (std::size_t i = 0; i < plan.size(); ++i) {
        float* out = result.data() + i * rows.width;
        const auto sources = plan.sources(i);
        if (sources.empty()) {
            std::copy_n(row(plan.kept[i]), rows.width, out);
            continue;
        }
        for (const MergeSource& source : sources) {
            const float* from = row(source.row);
            for (std::size_t k = 0; k < rows.width; ++k) out[k] += source.weight * from[k];
        }
    }
    return result;
}

std::vector<std::vector<TokenIndex>> apply_to_members(const Plan& plan,
                                                      const std::vector<std::vector<TokenIndex>>& members) {
    std::vector<std::vector<TokenIndex>> result(plan.size());
    for (std::size_t i = 0; i < plan.size(); ++i) {
        std::vector<TokenIndex>& own = result[i];
        const auto add = [&](TokenIndex row) {
            if (row != kClassToken) own.insert(own.end(), members[row].begin(), members[row].end());
        };
        add(plan.kept[i]);
        for (const MergeSource& source : plan.sources(i)) add(source.row);
        std::sort(own.begin(), own.end());
        own.erase(std::unique(own.begin(), own.end()), own.end());
    }
    return result;
}

}  // namespace clasp::methods
