// Text tokens over sequences that have their prompts: one token each of several sequences in one graph, or
// several tokens of one.
#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "base/check.h"
#include "engine/executor.h"
#include "engine/graph_inputs.h"

namespace clasp::engine {
namespace {

std::string name_of(std::size_t i, std::size_t n) {
    return n == 1 ? std::string() : " in sequence " + std::to_string(i) + " of the step";
}

// A sequence on its way through the layers.
struct Walk {
    const Sequence* sequence = nullptr;
    std::size_t n = 0;                               // rows
    std::size_t group = 0;                           // of the layer under way
    std::optional<LayerMasks> masks = std::nullopt;  // of that group
};

// Where the rows of some sequence change, and where the last layer ends.
std::set<std::size_t> segment_ends(std::span<const Walk> walks) {
    std::set<std::size_t> ends;
    for (const Walk& walk : walks) {
        for (const LayerGroup& group : walk.sequence->groups()) ends.insert(group.last);
    }
    return ends;
}

// Positions of all rows, and the masks of sequences that enter a new group, for the layers from `layer` on.
ggml_tensor* enter_segment(std::size_t layer, std::span<Walk> walks, GraphInputs& inputs) {
    std::vector<model::Position> positions;
    for (Walk& walk : walks) {
        const auto groups = walk.sequence->groups();
        if (groups[walk.group].last == layer) ++walk.group;
        const LayerGroup& group = groups[walk.group];
        std::vector<MaskRow> keys = group.keys;
        for (std::size_t i = 0; i < walk.n; ++i) {
            const std::int32_t position = group.next_position + static_cast<std::int32_t>(i);
            positions.push_back(model::text_position(position));
            keys.push_back({.position = position});
        }
        if (group.first == layer) walk.masks.emplace(std::move(keys), walk.n);
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

Status Executor::check(std::span<const TokenRun> runs) const {
    if (runs.empty()) return {Code::InvalidArgument, "a step needs at least one sequence"};
    const std::int32_t vocabulary = model().config().vocabulary;
    std::set<const Sequence*> seen;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const Sequence& sequence = *runs[i].sequence;
        const std::string whose = name_of(i, runs.size());
        if (&sequence.model() != &model()) {
            return {Code::InvalidArgument, "the tokens" + whose + " belong to another model"};
        }
        if (!seen.insert(&sequence).second) {
            return {Code::InvalidArgument, "a sequence is twice in one step"};
        }
        if (sequence.is_empty()) {
            return {Code::InvalidArgument, "nothing to continue" + whose + ": there was no prompt"};
        }
        if (runs[i].tokens.empty()) return {Code::InvalidArgument, "there are no tokens to run" + whose};
        for (const std::int32_t token : runs[i].tokens) {
            if (token < 0 || token >= vocabulary) {
                return {Code::InvalidArgument, "token " + std::to_string(token) + whose +
                                                   " is outside the vocabulary of " +
                                                   std::to_string(vocabulary)};
            }
        }
        if (static_cast<std::int64_t>(runs[i].tokens.size()) > sequence.room()) {
            return {Code::TooLarge, "no room for " + std::to_string(runs[i].tokens.size()) +
                                        " tokens after position " +
                                        std::to_string(sequence.next_position() - 1) + whose + ", but for " +
                                        std::to_string(sequence.room())};
        }
    }
    return ok_status();
}

Status Executor::run_tokens(std::span<const TokenRun> runs, const std::atomic<bool>* cancel) {
    std::vector<Walk> walks;
    std::vector<std::int32_t> ids;
    for (const TokenRun& run : runs) {
        walks.push_back({.sequence = run.sequence, .n = run.tokens.size()});
        ids.insert(ids.end(), run.tokens.begin(), run.tokens.end());
    }
    CLASP_CHECK(runs.size() == 1 || runs.size() == ids.size());
    CLASP_ASSIGN_OR_RETURN(model::DecoderGraph graph, workspace_.start(runs.size()));
    graph.rope_factors = runs.front().sequence->rope_factors();
    GraphInputs inputs(graph);
    ggml_tensor* hidden = model::build_embedding(graph, inputs.integers(ids));
    const std::size_t n_layers = graph.weights->blocks.size();
    std::size_t layer = 0;
    for (const std::size_t end : segment_ends(walks)) {
        ggml_tensor* positions = enter_segment(layer, walks, inputs);
        for (; layer < end; ++layer) {
            const std::vector<model::CachedRows> rows = cached_rows(layer, walks, *graph.config, inputs);
            const bool is_last = layer + 1 == n_layers;
            hidden =
                model::build_block(graph, layer,
                                   {.hidden = hidden,
                                    .positions = positions,
                                    .sequences = rows,
                                    .n_out = static_cast<std::int64_t>(is_last ? runs.size() : ids.size())});
        }
    }
    ggml_tensor* logits = model::build_head(graph, hidden);
    ggml_set_output(logits);
    ggml_build_forward_expand(graph.graph, logits);
    CLASP_RETURN_IF_ERROR(workspace_.run(graph, inputs, cancel));
    CLASP_RETURN_IF_ERROR(read_logits(logits, logits_));
    for (const TokenRun& run : runs) run.sequence->append(run.tokens);
    return ok_status();
}

}  // namespace clasp::engine
