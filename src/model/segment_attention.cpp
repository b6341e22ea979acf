#include "model/segment_attention.h"

#include <array>
#include <cstddef>

namespace clasp::model {

namespace {

// Calls run(first row, rows, place of its packed keys and values) for each segment.
template <typename Run>
void for_each_segment(const FullAttention& attention, std::span<const std::int32_t> bounds, Run run) {
    std::size_t place = 0;
    for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
        const auto first = static_cast<std::size_t>(bounds[i]);
        const std::size_t n_rows = static_cast<std::size_t>(bounds[i + 1]) - first;
        run(first, n_rows, place);
        place += attention.packed_size(n_rows);
    }
}

std::span<const std::int32_t> values_of(const ggml_tensor* bounds) {
    return {static_cast<const std::int32_t*>(bounds->data), static_cast<std::size_t>(bounds->ne[0])};
}

std::size_t row_width(const FullAttention& attention) {
    return attention.n_heads * attention.head_width;
}

// Operands: qkv, bounds, what must come before.
void pack_segments(ggml_tensor* packed, int part, int n_parts, void* user) {
    const auto& attention = *static_cast<const FullAttention*>(user);
    const auto* qkv = static_cast<const float*>(packed->src[0]->data);
    for_each_segment(
        attention, values_of(packed->src[1]), [&](std::size_t first, std::size_t n_rows, std::size_t place) {
            attention.pack(qkv + first * 3 * row_width(attention), n_rows, static_cast<std::size_t>(part),
                           static_cast<std::size_t>(n_parts), static_cast<float*>(packed->data) + place);
        });
}

// Operands: qkv, bounds, packed.
void attend_segments(ggml_tensor* y, int part, int n_parts, void* user) {
    const auto& attention = *static_cast<const FullAttention*>(user);
    const auto* qkv = static_cast<const float*>(y->src[0]->data);
    const auto* packed = static_cast<const float*>(y->src[2]->data);
    for_each_segment(attention, values_of(y->src[1]),
                     [&](std::size_t first, std::size_t n_rows, std::size_t place) {
                         attention.attend(qkv + first * 3 * row_width(attention), packed + place, n_rows,
                                          static_cast<std::size_t>(part), static_cast<std::size_t>(n_parts),
                                          static_cast<float*>(y->data) + first * row_width(attention));
                     });
}

}  // namespace

bool takes_segments(const FullAttention& attention, std::span<const std::int32_t> bounds) {
    for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
        if (!attention.fits(static_cast<std::size_t>(bounds[i + 1] - bounds[i]))) return false;
    }
    return true;
}

ggml_tensor* build_segment_attention(ggml_context* context, const FullAttention& attention, ggml_tensor* qkv,
                                     ggml_tensor* prepared, ggml_tensor* held_bounds,
                                     std::span<const std::int32_t> bounds) {
    std::size_t size = 0;
    for_each_segment(attention, bounds,
                     [&](std::size_t /*first*/, std::size_t n_rows, std::size_t /*place*/) {
                         size += attention.packed_size(n_rows);
                     });
    // ggml's custom operations take a pointer to data that they may change; these do not.
    void* user = const_cast<FullAttention*>(&attention);
    std::array<ggml_tensor*, 3> raw = {qkv, held_bounds, prepared};
    ggml_tensor* packed = ggml_custom_4d(context, GGML_TYPE_F32, static_cast<std::int64_t>(size), 1, 1, 1,
                                         raw.data(), 3, pack_segments, GGML_N_TASKS_MAX, user);
    std::array<ggml_tensor*, 3> operands = {qkv, held_bounds, packed};
    return ggml_custom_4d(context, GGML_TYPE_F32, qkv->ne[0] / 3, qkv->ne[1], 1, 1, operands.data(), 3,
                          attend_segments, GGML_N_TASKS_MAX, user);
}

}  // namespace clasp::model
