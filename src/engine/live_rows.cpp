#include "engine/live_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "ggml.h"

namespace clasp::engine {

LiveRows::LiveRows(const std::vector<bool>& is_visual) {
    rows_.resize(is_visual.size());
    std::int32_t n_visual = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        rows_[i].sequence_index = static_cast<std::int32_t>(i);
        rows_[i].position = static_cast<std::int32_t>(i);
        if (is_visual[i]) rows_[i].visual_index = n_visual++;
    }
}

std::vector<TokenIndex> LiveRows::visual() const {
    std::vector<TokenIndex> result;
    for (const LiveRow& row : rows_) {
        if (row.visual_index >= 0) result.push_back(static_cast<TokenIndex>(row.visual_index));
    }
    return result;
}

std::int32_t LiveRows::find(std::int32_t sequence_index) const {
    const auto found = std::find_if(rows_.begin(), rows_.end(),
                                    [&](const LiveRow& row) { return row.sequence_index == sequence_index; });
    return found == rows_.end() ? -1 : static_cast<std::int32_t>(found - rows_.begin());
}

bool LiveRows::has_masses() const {
    return std::any_of(rows_.begin(), rows_.end(), [](const LiveRow& row) { return row.mass != 1.0F; });
}

Result<std::vector<std::int32_t>> LiveRows::apply(const StageChoice& choice, PositionRule positions) {
    if (!choice.masses.empty() && choice.masses.size() != choice.kept.size()) {
        return Status(Code::InvalidArgument, "a selection keeps " + std::to_string(choice.kept.size()) +
                                                 " tokens but gives " + std::to_string(choice.masses.size()) +
                                                 " masses");
    }
    std::vector<std::int32_t> stay;
    std::vector<LiveRow> next;
    std::vector<bool> is_taken(rows_.size());
    std::size_t k = 0;
    for (std::size_t begin = 0; begin < rows_.size();) {
        if (rows_[begin].visual_index < 0) {
            stay.push_back(static_cast<std::int32_t>(begin));
            next.push_back(rows_[begin++]);
            continue;
        }
        // A run of visual tokens gives way to those of it that are kept, in the order of the choice.
        std::size_t end = begin;
        while (end < rows_.size() && rows_[end].visual_index >= 0) ++end;
        std::size_t earliest = begin;
        for (; k < choice.kept.size(); ++k) {
            const auto is_wanted = [&](const LiveRow& row) {
                return row.visual_index >= 0 && static_cast<TokenIndex>(row.visual_index) == choice.kept[k];
            };
            const auto first = rows_.begin() + static_cast<std::ptrdiff_t>(earliest);
            const auto last = rows_.begin() + static_cast<std::ptrdiff_t>(end);
            const auto found = std::find_if(first, last, is_wanted);
            if (found == last) break;
            const auto row = static_cast<std::size_t>(found - rows_.begin());
            if (is_taken[row]) break;
            is_taken[row] = true;
            if (choice.merged.empty()) earliest = row + 1;
            stay.push_back(static_cast<std::int32_t>(row));
            next.push_back(*found);
            if (!choice.masses.empty()) next.back().mass = choice.masses[k];
            if (!std::isfinite(next.back().mass) || next.back().mass <= 0.0F) {
                return Status(Code::InvalidArgument, "the mass of visual token " +
                                                         std::to_string(next.back().visual_index) + " is " +
                                                         std::to_string(next.back().mass) + ", not positive");
            }
        }
        begin = end;
    }
    if (k != choice.kept.size()) {
        return Status(Code::InvalidArgument, "a selection keeps visual token " +
                                                 std::to_string(choice.kept[k]) +
                                                 ", which is not alive or out of ascending order");
    }
    rows_ = std::move(next);
    if (positions == PositionRule::Compact) {
        for (std::size_t i = 0; i < rows_.size(); ++i) rows_[i].position = static_cast<std::int32_t>(i);
    }
    return stay;
}

std::vector<float> key_biases(std::span<const LiveRow> rows) {
    std::vector<float> biases;
    biases.reserve(rows.size());
    for (const LiveRow& row : rows) biases.push_back(std::log(row.mass));
    return biases;
}

std::vector<std::uint16_t> causal_mask(std::span<const float> key_bias, std::size_t first, std::size_t n) {
    const std::size_t n_keys = first + n;
    const ggml_fp16_t hidden = ggml_fp32_to_fp16(-std::numeric_limits<float>::infinity());
    std::vector<ggml_fp16_t> visible(n_keys);
    for (std::size_t k = 0; k < n_keys; ++k) visible[k] = ggml_fp32_to_fp16(key_bias[k]);
    std::vector<std::uint16_t> mask(n_keys * n, hidden);
    for (std::size_t i = 0; i < n; ++i) {
        std::copy_n(visible.begin(), first + i + 1, mask.begin() + static_cast<std::ptrdiff_t>(i * n_keys));
    }
    return mask;
}

}  // namespace clasp::engine
