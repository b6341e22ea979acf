#include "methods/stage_signals.h"

#include <gtest/gtest.h>

#include <numeric>

namespace clasp::methods {
namespace {

constexpr std::size_t kTokens = 5;

// Every signal there is, of five tokens: columns hold 10 * row + token, rows hold 10 * token + column.
StageSignals all_signals() {
    StageSignals signals;
    for (const StageSignal& signal : kStageSignals) {
        std::vector<float> values;
        const std::size_t n_rows = signal.has_token_rows ? kTokens : 3;
        const std::size_t width = signal.has_token_rows ? 3 : kTokens;
        for (std::size_t row = 0; row < n_rows; ++row) {
            for (std::size_t i = 0; i < width; ++i) values.push_back(static_cast<float>(10 * row + i));
        }
        signals.*signal.table = SignalTable(values, width);
    }
    return signals;
}

// What a signal says of one token, in its list.
std::vector<float> of_token(const StageSignals& signals, const StageSignal& signal, std::size_t token) {
    const SignalTable& table = signals.*signal.table;
    std::vector<float> values;
    if (signal.has_token_rows) {
        values.assign(table.row(token).begin(), table.row(token).end());
    } else {
        for (std::size_t i = 0; i < table.view().rows; ++i) values.push_back(table.row(i)[token]);
    }
    return values;
}

TEST(StageSignals, PartsAndChoicesOfTokensHoldForEverySignal) {
    const StageSignals all = all_signals();
    const StageSignals part = all.part(1, 4);
    const std::vector<std::int32_t> chosen = {4, 0, 2};
    const StageSignals some = all.of(chosen);
    for (const StageSignal& signal : kStageSignals) {
        for (std::size_t i = 0; i < 3; ++i) {
            const std::vector<float> second = of_token(all, signal, 1 + i);
            EXPECT_EQ(of_token(part, signal, i), second);
            EXPECT_EQ(of_token(part.part(i, i + 1), signal, 0), second);
            EXPECT_EQ(of_token(some, signal, i), of_token(all, signal, static_cast<std::size_t>(chosen[i])));
        }
        const FeatureView& view = (part.*signal.table).view();
        EXPECT_EQ(signal.has_token_rows ? view.rows : view.width, 3U);
    }
}

TEST(StageSignals, WhatWasNotAskedForStaysEmpty) {
    StageSignals signals;
    signals.key_norms = SignalTable({1, 2, 3, 4}, 4);
    const std::vector<std::int32_t> chosen = {3, 1};
    for (const StageSignals& some : {signals.part(1, 3), signals.of(chosen)}) {
        EXPECT_TRUE(some.scores.empty() && some.rows.empty() && some.hidden.empty());
        EXPECT_EQ(some.key_norms.values().size(), 2U);
    }
    EXPECT_TRUE(signals.of({}).key_norms.empty());
}

TEST(StageSignals, PartsShareTheValues) {
    const SignalTable table(std::vector<float>(12, 1.0F), 4);
    EXPECT_EQ(table.columns(1, 3).view().data, table.view().data + 1);
    EXPECT_EQ(table.rows(1, 3).view().data, table.view().data + 4);
    EXPECT_EQ(table.columns(1, 3).view().stride, 4U);
}

}  // namespace
}  // namespace clasp::methods
