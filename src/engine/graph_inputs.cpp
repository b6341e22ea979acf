#include "engine/graph_inputs.h"

#include <algorithm>

#include "base/check.h"
#include "ggml-backend.h"

namespace clasp::engine {

std::vector<model::Position> positions_of(std::span<const LiveRow> rows) {
    std::vector<model::Position> positions;
    positions.reserve(rows.size());
    for (const LiveRow& row : rows) positions.push_back(row.position);
    return positions;
}

ggml_tensor* GraphInputs::add(ggml_type type, std::size_t n0, std::size_t n1, const void* values,
                              std::size_t n_bytes) {
    ggml_tensor* tensor =
        ggml_new_tensor_2d(context_, type, static_cast<std::int64_t>(n0), static_cast<std::int64_t>(n1));
    ggml_set_input(tensor);
    CLASP_CHECK(ggml_nbytes(tensor) == n_bytes);
    const auto* bytes = static_cast<const std::byte*>(values);
    inputs_.emplace_back(tensor, std::vector<std::byte>(bytes, bytes + n_bytes));
    return tensor;
}

ggml_tensor* GraphInputs::integers(std::span<const std::int32_t> values) {
    return add(GGML_TYPE_I32, values.size(), 1, values.data(), values.size_bytes());
}

ggml_tensor* GraphInputs::floats(std::span<const float> values, std::size_t n0, std::size_t n1) {
    return add(GGML_TYPE_F32, n0, n1, values.data(), values.size_bytes());
}

ggml_tensor* GraphInputs::positions(std::span<const model::Position> positions) {
    return integers(model::position_table(positions, n_planes_));
}

ggml_tensor* GraphInputs::mask(std::span<const MaskRow> rows, std::size_t n, const MaskRule& rule) {
    const std::size_t first = rows.size() - n;
    if (n == 1 && sees_all(rows, first, rule)) return nullptr;
    const std::vector<std::uint16_t> values = attention_mask(rows, first, n, rule);
    return add(GGML_TYPE_F16, rows.size(), n, values.data(), values.size() * sizeof(std::uint16_t));
}

ggml_tensor* LayerMasks::get(GraphInputs& inputs, const model::TextConfig& config, std::size_t layer) {
    const std::int32_t window = config.window_of(layer);
    for (const auto& [known, tensor] : masks_) {
        if (known == window) return tensor;
    }
    ggml_tensor* tensor = inputs.mask(rows_, n_, {window, config.family->images_see_both_ways});
    masks_.emplace_back(window, tensor);
    return tensor;
}

void GraphInputs::upload() const {
    for (const auto& [tensor, bytes] : inputs_) {
        if (tensor->buffer != nullptr) ggml_backend_tensor_set(tensor, bytes.data(), 0, bytes.size());
    }
}

}  // namespace clasp::engine
