#include "engine/token_rows.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "base/check.h"

namespace clasp::engine {
namespace {

// A sequence on its way through the layers.
struct Walk {
    const Sequence* sequence = nullptr;
    std::size_t n = 0;                               // rows
    std::size_t group = 0;                           // of the layer under way
    std::optional<LayerMasks> masks = std::nullopt;  // of that group
};

// Where the rows of some sequence change behind block `first`, up to where `last` ends.
std::set<std::size_t> segment_ends(std::span<const Walk> walks, std::size_t first, std::size_t last) {
    std::set<std::size_t> ends = {last};
    for (const Walk& walk : walks) {
        for (const LayerGroup& group : walk.sequence->groups()) {
            if (group.last > first && group.last < last) ends.insert(group.last);
        }
    }
    return ends;
}

// Positions of all rows, and the masks of sequences that enter a new group, for the layers from `layer` on.
ggml_tensor* enter_segment(std::size_t layer, std::span<Walk> walks, GraphInputs& inputs) {
    std::vector<model::Position> positions;
    for (Walk& walk : walks) {
        const auto groups = walk.sequence->groups();
        const std::size_t before = walk.group;
        while (groups[walk.group].last <= layer) ++walk.group;
        const LayerGroup& group = groups[walk.group];
        std::vector<MaskRow> keys = group.keys;
        for (std::size_t i = 0; i < walk.n; ++i) {
            const std::int32_t position = group.next_position + static_cast<std::int32_t>(i);
            positions.push_back(model::text_position(position));
            keys.push_back({.position = position});
        }
        if (!walk.masks || walk.group != before) walk.masks.emplace(std::move(keys), walk.n);
    }
    return inputs.positions(positions);
}

std::vector<model::CachedRows> cached_rows(std::size_t layer, std::span<Walk> walks,
                                           const model::TextConfig& config, GraphInputs& inputs) {
    std::vector<model::CachedRows> rows;
    rows.reserve(walks.size());
    for (Walk& walk : walks) {
        const KvLayer& kv = walk.sequence->kv().layer(layer);
        CLASP_CHECK(kv.used + static_cast<std::int64_t>(walk.n) <= kv.capacity);
        rows.push_back({.n = static_cast<std::int64_t>(walk.n),
                        .mask = walk.masks->get(inputs, config, layer),
                        .keys = kv.keys,
                        .values = kv.values,
                        .n_past = kv.used});
    }
    return rows;
}

}  // namespace

ggml_tensor* build_token_blocks(const model::DecoderGraph& graph, GraphInputs& inputs, ggml_tensor* hidden,
                                std::span<const TokenRun> runs, std::size_t first, std::size_t last) {
    std::vector<Walk> walks;
    std::size_t n_rows = 0;
    for (const TokenRun& run : runs) {
        walks.push_back({.sequence = run.sequence, .n = run.tokens.size()});
        n_rows += run.tokens.size();
    }
    std::size_t layer = first;
    for (const std::size_t end : segment_ends(walks, first, last)) {
        ggml_tensor* positions = enter_segment(layer, walks, inputs);
        for (; layer < end; ++layer) {
            const std::vector<model::CachedRows> rows = cached_rows(layer, walks, *graph.config, inputs);
            const bool is_last = layer + 1 == graph.weights->blocks.size();
            hidden = model::build_block(graph, layer,
                                        {.hidden = hidden,
                                         .positions = positions,
                                         .sequences = rows,
                                         .n_out = static_cast<std::int64_t>(is_last ? runs.size() : n_rows)});
        }
    }
    return hidden;
}

}  // namespace clasp::engine
