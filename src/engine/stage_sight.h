// What was seen at a stage, kept until the selector has chosen.
#pragma once

#include <span>
#include <vector>

#include "engine/live_rows.h"
#include "engine/prefill.h"

namespace clasp::engine {

// Columns are the live visual tokens; see StageView.
struct StageSight {
    std::vector<float> scores;
    std::vector<float> rows;
    std::vector<float> rotation_bias;
    std::vector<float> key_norms;
    std::vector<float> hidden;
    std::vector<float> text_key_norms;
    std::vector<float> text_hidden;

    [[nodiscard]] StageView view() const;
};

// Row numbers of the visual tokens, and of the text after the last of them.
std::vector<std::int32_t> visual_rows(std::span<const LiveRow> rows);
std::vector<std::int32_t> text_rows_after_images(std::span<const LiveRow> rows);

// Those columns of a table with one column per row held.
std::vector<float> columns(std::span<const float> table, std::size_t n_columns,
                           std::span<const std::int32_t> wanted);

}  // namespace clasp::engine
