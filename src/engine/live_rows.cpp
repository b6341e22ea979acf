#include "engine/live_rows.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

namespace clasp::engine {

LiveRows::LiveRows(const std::vector<bool>& is_visual) {
    rows_.resize(is_visual.size());
    std::int32_t n_visual = 0;
    std::int32_t image = -1;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        rows_[i].sequence_index = static_cast<std::int32_t>(i);
        rows_[i].position = model::text_position(static_cast<std::int32_t>(i));
        if (!is_visual[i]) continue;
        if (i == 0 || !is_visual[i - 1]) ++image;
        rows_[i].visual_index = n_visual++;
        rows_[i].image = image;
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

std::size_t LiveRows::n_fixed() const {
    return static_cast<std::size_t>(std::count_if(rows_.begin(), rows_.end(), [](const LiveRow& row) {
        return row.is_carried && row.line != kNoLine;
    }));
}

namespace {

// Takes out the carried rows whose line has no visual token any more. stay and rows belong together.
void drop_empty_lines(std::vector<std::int32_t>& stay, std::vector<LiveRow>& rows) {
    std::set<std::int32_t> lines;
    for (const LiveRow& row : rows) {
        if (row.visual_index >= 0) lines.insert(row.line);
    }
    std::size_t n = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].is_carried && rows[i].line != kNoLine && !lines.contains(rows[i].line)) continue;
        rows[n] = rows[i];
        stay[n++] = stay[i];
    }
    rows.resize(n);
    stay.resize(n);
}

}  // namespace

Result<std::vector<std::int32_t>> LiveRows::apply(const StageChoice& choice, PositionMode positions) {
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
    drop_empty_lines(stay, next);
    rows_ = std::move(next);
    if (positions == PositionMode::Compact) {
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            rows_[i].position = model::text_position(static_cast<std::int32_t>(i));
        }
    }
    return stay;
}

std::vector<std::int32_t> visual_rows(std::span<const LiveRow> rows) {
    std::vector<std::int32_t> result;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].visual_index >= 0) result.push_back(static_cast<std::int32_t>(i));
    }
    return result;
}

std::vector<std::int32_t> text_rows_after_images(std::span<const LiveRow> rows) {
    std::size_t begin = rows.size();
    while (begin > 0 && rows[begin - 1].visual_index < 0 && !rows[begin - 1].is_carried) --begin;
    std::vector<std::int32_t> result;
    for (std::size_t i = begin; i < rows.size(); ++i) result.push_back(static_cast<std::int32_t>(i));
    return result;
}

}  // namespace clasp::engine
