// Which tokens of a prompt are still alive between two decoder blocks. Applying a selection is here, in
// one place: rows, positions and masses follow from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "clasp/select.h"
#include "clasp/status.h"
#include "methods/plan.h"
#include "model/positions.h"

namespace clasp::engine {

// One token of the prompt. Text tokens have visual_index -1; visual tokens are numbered from 0 over all
// images of the prompt, in the order in which they entered.
inline constexpr std::int32_t kNoLine = -1;
struct LiveRow {
    std::int32_t sequence_index = 0;  // place in the prompt as it entered
    model::Position position = {};    // for the rotation of queries and keys, and for windows
    std::int32_t visual_index = -1;
    std::int32_t image = -1;  // number of the run of visual tokens that it came with
    float mass = 1.0F;        // how many tokens of the unpruned prompt it stands for
    // Neither text of the prompt nor a token that is chosen: a row that an image brings along, such as a line
    // break. One with a line lives while a visual token of that line does; without, always.
    bool is_carried = false;
    std::int32_t line = kNoLine;
};

using methods::PositionMode;

// A token that becomes a weighted sum of live ones.
struct MergedToken {
    struct Source {
        TokenIndex token = 0;  // visual index, alive before the stage
        float weight = 0.0F;
    };
    TokenIndex token = 0;  // visual index whose place it takes, one of the kept
    std::vector<Source> sources;
};

// What a selection decides at one stage.
struct StageChoice {
    std::vector<TokenIndex> kept;  // visual indices, a subset of the live ones; ascending unless some merge
    std::vector<float> masses;     // of the kept tokens, in the same order; empty: unchanged
    std::vector<MergedToken> merged = {};
};

class LiveRows {
   public:
    // All tokens alive, with mass 1. is_visual has one entry per token of the prompt.
    explicit LiveRows(const std::vector<bool>& is_visual);
    // Rows as they are given, in the order of the prompt.
    explicit LiveRows(std::vector<LiveRow> rows) : rows_(std::move(rows)) {}

    [[nodiscard]] std::span<const LiveRow> rows() const { return rows_; }
    [[nodiscard]] std::size_t size() const { return rows_.size(); }
    // The visual indices that are alive, in the order of the rows.
    [[nodiscard]] std::vector<TokenIndex> visual() const;
    // The row that holds a token of the prompt, or -1 if it was dropped.
    [[nodiscard]] std::int32_t find(std::int32_t sequence_index) const;
    [[nodiscard]] bool has_masses() const;
    // Carried rows that go with tokens.
    [[nodiscard]] std::size_t n_fixed() const;

    // Drops every visual token that the choice does not keep, and the carried rows of lines without any; text
    // stays. Returns the rows that stay, in
    // their new order, as row numbers before the call. An index that is out of order, out of range or not
    // alive, and a mass that is not a positive finite number, are refused, and nothing changes then.
    Result<std::vector<std::int32_t>> apply(const StageChoice& choice,
                                            PositionMode positions = PositionMode::Keep);

   private:
    std::vector<LiveRow> rows_;
};

// Row numbers of the visual tokens, and of the text after the last of them.
std::vector<std::int32_t> visual_rows(std::span<const LiveRow> rows);
std::vector<std::int32_t> text_rows_after_images(std::span<const LiveRow> rows);

}  // namespace clasp::engine
