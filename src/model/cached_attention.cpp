#include "model/cached_attention.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "model/attention_tile.h"

namespace clasp::model {

namespace {

PackedHead packed_head(const ggml_tensor* packed, const TextConfig& config, std::size_t kv_head,
                       std::size_t n_keys) {
    const auto head_width = static_cast<std::size_t>(config.head_width);
    return {static_cast<float*>(packed->data) + kv_head * PackedHead::size(n_keys, head_width), n_keys,
            head_width};
}

// Operands: the cells of keys and of values.
void pack_cells(ggml_tensor* packed, int part, int n_parts, void* user) {
    const auto& config = *static_cast<const TextConfig*>(user);
    const ggml_tensor* keys = packed->src[0];
    const ggml_tensor* values = packed->src[1];
    const auto n_keys = static_cast<std::size_t>(keys->ne[1]);
    const auto n_heads = static_cast<std::size_t>(config.n_kv_heads);
    const auto head_width = static_cast<std::size_t>(config.head_width);
    std::vector<float> key(head_width);
    std::vector<float> value(head_width);
    const auto widened = [&](const ggml_tensor* cells, std::size_t head, std::size_t row,
                             std::vector<float>& memory) -> const float* {
        const auto* from = static_cast<const char*>(cells->data) + row * cells->nb[1];
        if (cells->type == GGML_TYPE_F32) return reinterpret_cast<const float*>(from) + head * head_width;
        ggml_fp16_to_fp32_row(reinterpret_cast<const ggml_fp16_t*>(from) + head * head_width, memory.data(),
                              config.head_width);
        return memory.data();
    };
    // By heads and rows, so that few heads keep many threads busy.
    const std::size_t n_items = n_heads * n_keys;
    const auto first = static_cast<std::size_t>(part) * n_items / static_cast<std::size_t>(n_parts);
    const auto end = (static_cast<std::size_t>(part) + 1) * n_items / static_cast<std::size_t>(n_parts);
    for (std::size_t item = first; item < end; ++item) {
        const std::size_t head = item / n_keys;
        const std::size_t row = item % n_keys;
        const PackedHead to = packed_head(packed, config, head, n_keys);
        if (row == 0) to.clear_padding();
        to.set(row, widened(keys, head, row, key), widened(values, head, row, value));
    }
}

// Operands: queries, packed, and the mask if there is one. Its shape says how many keys there are; without it
// the size of `packed` does.
struct Attending {
    const TextConfig& config;
    const ggml_tensor* q;
    const ggml_tensor* packed;
    const ggml_tensor* mask;
    ggml_tensor* y;
    std::size_t n_keys;

    [[nodiscard]] AttentionTile tile(std::size_t head, std::size_t first) const {
        const auto head_width = static_cast<std::size_t>(config.head_width);
        AttentionTile tile;
        tile.n_rows = std::min(kTileRows, static_cast<std::size_t>(q->ne[2]) - first);
        for (std::size_t i = 0; i < tile.n_rows; ++i) {
            const std::size_t row = first + i;
            tile.query[i] = reinterpret_cast<const float*>(static_cast<const char*>(q->data) +
                                                           row * q->nb[2] + head * q->nb[1]);
            tile.y[i] =
                reinterpret_cast<float*>(static_cast<char*>(y->data) + row * y->nb[1]) + head * head_width;
            if (mask != nullptr) {
                tile.mask[i] = reinterpret_cast<const std::uint16_t*>(static_cast<const char*>(mask->data) +
                                                                      row * mask->nb[1]);
            }
        }
        return tile;
    }
};

void attend_cells(ggml_tensor* y, int part, int n_parts, void* user) {
    const auto& config = *static_cast<const TextConfig*>(user);
    const ggml_tensor* packed = y->src[1];
    const auto n_heads = static_cast<std::size_t>(config.n_heads);
    const std::size_t n_sharing = n_heads / static_cast<std::size_t>(config.n_kv_heads);
    const Attending attending = {config,    y->src[0], packed,
                                 y->src[2], y,         static_cast<std::size_t>(packed->ne[1])};
    const std::size_t n_tiles = (static_cast<std::size_t>(y->ne[1]) + kTileRows - 1) / kTileRows;
    constexpr std::size_t kTilesAtOnce = 16;
    std::array<AttentionTile, kTilesAtOnce> tiles;
    // Later rows see more keys: threads take turns with groups of tiles, so that none gets only long ones.
    const std::size_t n_groups = (n_tiles + kTilesAtOnce - 1) / kTilesAtOnce;
    for (std::size_t item = static_cast<std::size_t>(part); item < n_heads * n_groups;
         item += static_cast<std::size_t>(n_parts)) {
        const std::size_t head = item / n_groups;
        // Every other head from the back.
        const std::size_t group = head % 2 == 0 ? item % n_groups : n_groups - 1 - item % n_groups;
        const std::size_t first = group * kTilesAtOnce;
        const std::size_t n = std::min(kTilesAtOnce, n_tiles - first);
        for (std::size_t i = 0; i < n; ++i) tiles[i] = attending.tile(head, (first + i) * kTileRows);
        attend_tiles(std::span(tiles).first(n),
                     packed_head(packed, config, head / n_sharing, attending.n_keys), config.attention_scale,
                     fastest_kernels());
    }
}

}  // namespace

bool takes_cached_attention(const TextConfig& config) {
    return config.attention_cap == 0.0F && config.attention_scale > 0.0F &&
           PackedHead::fits(static_cast<std::size_t>(config.head_width));
}

ggml_tensor* build_cached_attention(ggml_context* context, const TextConfig& config, ggml_tensor* q,
                                    ggml_tensor* keys, ggml_tensor* values, std::int64_t n_keys,
                                    ggml_tensor* mask) {
    // ggml's custom operations take a pointer to data that they may change; these do not.
    void* user = const_cast<TextConfig*>(&config);
    const auto cells = [&](ggml_tensor* cache) {
        return ggml_view_2d(context, cache, cache->ne[0], n_keys, cache->nb[1], 0);
    };
    std::array<ggml_tensor*, 2> raw = {cells(keys), cells(values)};
    const std::size_t head_size =
        PackedHead::size(static_cast<std::size_t>(n_keys), static_cast<std::size_t>(config.head_width));
    // [floats of all heads for a key, keys, 1]: the second dimension tells how many keys there are.
    const std::size_t n_floats = head_size * static_cast<std::size_t>(config.n_kv_heads);
    const std::size_t per_key =
        (n_floats + static_cast<std::size_t>(n_keys) - 1) / static_cast<std::size_t>(n_keys);
    ggml_tensor* packed = ggml_custom_4d(context, GGML_TYPE_F32, static_cast<std::int64_t>(per_key), n_keys,
                                         1, 1, raw.data(), 2, pack_cells, GGML_N_TASKS_MAX, user);
    std::array<ggml_tensor*, 3> operands = {q, packed, mask};
    return ggml_custom_4d(context, GGML_TYPE_F32, config.query_width(), q->ne[2], 1, 1, operands.data(),
                          mask != nullptr ? 3 : 2, attend_cells, GGML_N_TASKS_MAX, user);
}

}  // namespace clasp::model
