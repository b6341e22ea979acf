#include "engine/stage_sight.h"

namespace clasp::engine {

StageView StageSight::view() const {
    StageView view;
    view.scores = scores;
    view.rows = rows;
    view.rotation_bias = rotation_bias;
    view.key_norms = key_norms;
    view.hidden = hidden;
    view.text_key_norms = text_key_norms;
    view.text_hidden = text_hidden;
    return view;
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

std::vector<float> columns(std::span<const float> table, std::size_t n_columns,
                           std::span<const std::int32_t> wanted) {
    std::vector<float> result;
    result.reserve(table.size() / n_columns * wanted.size());
    for (std::size_t begin = 0; begin < table.size(); begin += n_columns) {
        for (const std::int32_t column : wanted) {
            result.push_back(table[begin + static_cast<std::size_t>(column)]);
        }
    }
    return result;
}

}  // namespace clasp::engine
