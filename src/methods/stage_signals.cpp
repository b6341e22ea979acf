#include "methods/stage_signals.h"

#include <utility>

#include "base/check.h"

namespace clasp::methods {

SignalTable::SignalTable(std::vector<float> values, std::size_t width) {
    if (values.empty()) return;
    CLASP_CHECK(width > 0 && values.size() % width == 0);
    values_ = std::make_shared<const std::vector<float>>(std::move(values));
    view_ = {values_->data(), values_->size() / width, width, width};
}

std::span<const float> SignalTable::row(std::size_t i) const {
    CLASP_CHECK(i < view_.rows);
    return {view_.data + i * view_.stride, view_.width};
}

std::span<const float> SignalTable::values() const {
    CLASP_CHECK(view_.rows <= 1 || view_.stride == view_.width);
    return {view_.data, view_.rows * view_.width};
}

SignalTable SignalTable::rows(std::size_t begin, std::size_t end) const {
    CLASP_CHECK(begin <= end && end <= view_.rows);
    SignalTable part = *this;
    part.view_.data += begin * view_.stride;
    part.view_.rows = end - begin;
    return part;
}

SignalTable SignalTable::columns(std::size_t begin, std::size_t end) const {
    CLASP_CHECK(begin <= end && end <= view_.width);
    SignalTable part = *this;
    part.view_.data += begin;
    part.view_.width = end - begin;
    return part;
}

StageSignals StageSignals::part(std::size_t begin, std::size_t end) const {
    StageSignals result;
    for (const StageSignal& signal : kStageSignals) {
        const SignalTable& whole = this->*signal.table;
        if (whole.empty()) continue;
        result.*signal.table = signal.has_token_rows ? whole.rows(begin, end) : whole.columns(begin, end);
    }
    return result;
}

StageSignals StageSignals::of(std::span<const std::int32_t> tokens) const {
    StageSignals result;
    for (const StageSignal& signal : kStageSignals) {
        const SignalTable& whole = this->*signal.table;
        if (whole.empty()) continue;
        std::vector<float> values;
        if (signal.has_token_rows) {
            values.reserve(tokens.size() * whole.view().width);
            for (const std::int32_t token : tokens) {
                const auto row = whole.row(static_cast<std::size_t>(token));
                values.insert(values.end(), row.begin(), row.end());
            }
        } else {
            values.reserve(tokens.size() * whole.view().rows);
            for (std::size_t i = 0; i < whole.view().rows; ++i) {
                const auto row = whole.row(i);
                for (const std::int32_t token : tokens) {
                    CLASP_CHECK(static_cast<std::size_t>(token) < row.size());
                    values.push_back(row[static_cast<std::size_t>(token)]);
                }
            }
        }
        const std::size_t width = signal.has_token_rows ? whole.view().width : tokens.size();
        result.*signal.table = SignalTable(std::move(values), width);
    }
    return result;
}

}  // namespace clasp::methods
