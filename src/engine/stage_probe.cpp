#include "engine/stage_probe.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"

namespace clasp::engine {
namespace {

// The values of a signal as the queries of one group gave them.
struct SignalValues {
    model::ProbedSignal signal;
    std::vector<float> values;
};

// Adds more queries to a table of parts x queries x columns.
void append_queries(const std::vector<float>& more, std::size_t n_columns, std::size_t n_parts,
                    std::vector<float>& table) {
    const std::size_t old_part = table.size() / n_parts;
    const std::size_t new_part = more.size() / n_parts;
    CLASP_CHECK(old_part % n_columns == 0 && new_part % n_columns == 0);
    std::vector<float> joined;
    joined.reserve(table.size() + more.size());
    for (std::size_t part = 0; part < n_parts; ++part) {
        const auto add = [&](const std::vector<float>& from, std::size_t size) {
            const auto begin = from.begin() + static_cast<std::ptrdiff_t>(part * size);
            joined.insert(joined.end(), begin, begin + static_cast<std::ptrdiff_t>(size));
        };
        add(table, old_part);
        add(more, new_part);
    }
    table = std::move(joined);
}

// What is asked of attention, as inputs of the graph.
void add_queries(std::span<const std::int32_t> queries, std::span<const LiveRow> rows, const MaskRule& rule,
                 GraphInputs& inputs, model::ProbeInput& input) {
    std::vector<model::Position> positions;
    for (const std::int32_t query : queries) {
        positions.push_back(rows[static_cast<std::size_t>(query)].position);
    }
    input.query_rows = inputs.integers(queries);
    input.query_positions = inputs.positions(positions);
    input.mask = inputs.floats(probe_mask(mask_rows(rows), queries, rule), rows.size(), queries.size());
}

Result<std::vector<SignalValues>> probe_queries(Workspace& workspace, const HiddenRows& hidden,
                                                const ProbeRequest& request, std::span<const LiveRow> rows,
                                                const std::atomic<bool>* cancel) {
    CLASP_CHECK(rows.size() == hidden.size());
    CLASP_ASSIGN_OR_RETURN(model::DecoderGraph graph, workspace.start());
    graph.rope_factors = request.rope_factors;
    GraphInputs inputs(graph);
    model::ProbeInput input = {.hidden = hidden.view(graph, 0, rows.size()),
                               .positions = inputs.positions(positions_of(rows))};
    const bool asks = !request.queries.empty() && request.needs.asks_attention();
    const MaskRule rule = {graph.config->window_of(request.layer),
                           graph.config->family->images_see_both_ways};
    if (asks) add_queries(request.queries, rows, rule, inputs, input);
    const std::vector<model::ProbedSignal> signals =
        model::build_probe(graph, request.layer, input, request.needs);
    std::vector<SignalValues> seen;
    if (signals.empty()) return seen;
    CLASP_RETURN_IF_ERROR(workspace.run(graph, inputs, cancel));
    for (const model::ProbedSignal& signal : signals) seen.push_back({signal, read_floats(signal.values)});
    return seen;
}

}  // namespace

Result<methods::StageSignals> probe_block(Workspace& workspace, const HiddenRows& hidden,
                                          const ProbeRequest& request, std::span<const LiveRow> rows,
                                          const std::atomic<bool>* cancel) {
    using Join = model::ProbedSignal::Join;
    // The probabilities of one group of queries, all heads, take at most 256 MiB.
    constexpr std::size_t kMaxEntries = std::size_t{1} << 26;
    const auto n_heads = static_cast<std::size_t>(workspace.model().config().n_heads);
    const std::size_t group = std::max<std::size_t>(1, kMaxEntries / (rows.size() * n_heads));
    const std::size_t m = request.queries.size();
    std::vector<SignalValues> all;
    for (std::size_t begin = 0; begin == 0 || begin < m; begin += group) {
        const std::size_t n = std::min(group, m - begin);
        ProbeRequest part = request;
        part.queries = request.queries.subspan(begin, n);
        CLASP_ASSIGN_OR_RETURN(std::vector<SignalValues> seen,
                               probe_queries(workspace, hidden, part, rows, cancel));
        for (SignalValues& more : seen) {
            if (more.signal.join != Join::Mean || n == m) continue;
            for (float& value : more.values) value *= static_cast<float>(n) / static_cast<float>(m);
        }
        if (begin == 0) {
            all = std::move(seen);
            continue;
        }
        CLASP_CHECK(seen.size() == all.size());
        for (std::size_t i = 0; i < all.size(); ++i) {
            std::vector<float>& values = all[i].values;
            if (all[i].signal.join == Join::Append) {
                append_queries(seen[i].values, rows.size(), all[i].signal.n_parts, values);
            } else if (all[i].signal.join == Join::Mean) {
                for (std::size_t k = 0; k < values.size(); ++k) values[k] += seen[i].values[k];
            }
        }
    }
    methods::StageSignals signals;
    for (SignalValues& one : all) {
        signals.*one.signal.table = methods::SignalTable(std::move(one.values), rows.size());
    }
    return signals;
}

}  // namespace clasp::engine
