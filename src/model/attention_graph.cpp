#include "model/attention_graph.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace clasp::model {

namespace {

std::size_t row_count(const ggml_tensor* qkv) {
    return static_cast<std::size_t>(qkv->ne[1]);
}

void pack(ggml_tensor* packed, int part, int n_parts, void* attention) {
    const ggml_tensor* qkv = packed->src[0];
    static_cast<const FullAttention*>(attention)->pack(
        static_cast<const float*>(qkv->data), row_count(qkv), static_cast<std::size_t>(part),
        static_cast<std::size_t>(n_parts), static_cast<float*>(packed->data));
}

void attend(ggml_tensor* y, int part, int n_parts, void* attention) {
    const ggml_tensor* qkv = y->src[0];
    const ggml_tensor* packed = y->src[1];
    static_cast<const FullAttention*>(attention)->attend(
        static_cast<const float*>(qkv->data), static_cast<const float*>(packed->data), row_count(qkv),
        static_cast<std::size_t>(part), static_cast<std::size_t>(n_parts), static_cast<float*>(y->data));
}

}  // namespace

ggml_tensor* build_full_attention(ggml_context* context, const FullAttention& attention, ggml_tensor* qkv) {
    // ggml's custom operations take a pointer to data that they may change; these do not.
    void* user = const_cast<FullAttention*>(&attention);
    const std::size_t size = attention.packed_size(row_count(qkv));
    ggml_tensor* packed = ggml_custom_4d(context, GGML_TYPE_F32, static_cast<std::int64_t>(size), 1, 1, 1,
                                         &qkv, 1, pack, GGML_N_TASKS_MAX, user);
    std::array<ggml_tensor*, 2> operands = {qkv, packed};
    return ggml_custom_4d(context, GGML_TYPE_F32, qkv->ne[0] / 3, qkv->ne[1], 1, 1, operands.data(), 2,
                          attend, GGML_N_TASKS_MAX, user);
}

}  // namespace clasp::model
