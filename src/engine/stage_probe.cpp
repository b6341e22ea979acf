#include "engine/stage_probe.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace clasp::engine {
namespace {

// Adds more queries to a table of heads x queries x columns.
void append_queries(const std::vector<float>& more, std::size_t n_columns, std::size_t n_heads,
                    std::vector<float>& table) {
    const std::size_t old_part = table.size() / n_heads;
    const std::size_t new_part = more.size() / n_heads;
    CLASP_CHECK(old_part % n_columns == 0 && new_part % n_columns == 0);
    std::vector<float> joined;
    joined.reserve(table.size() + more.size());
    for (std::size_t head = 0; head < n_heads; ++head) {
        const auto add = [&](const std::vector<float>& from, std::size_t part) {
            const auto begin = from.begin() + static_cast<std::ptrdiff_t>(head * part);
            joined.insert(joined.end(), begin, begin + static_cast<std::ptrdiff_t>(part));
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

Result<ProbeValues> probe_queries(Workspace& workspace, const HiddenRows& hidden, const ProbeRequest& request,
                                  std::span<const LiveRow> rows, const std::atomic<bool>* cancel) {
    CLASP_CHECK(rows.size() == hidden.size());
    ProbeValues values;
    const bool asks = (request.mean || request.rows || request.heads) && !request.queries.empty();
    if (!asks && !request.key_norms) return values;
    CLASP_ASSIGN_OR_RETURN(model::DecoderGraph graph, workspace.start());
    graph.rope_factors = request.rope_factors;
    GraphInputs inputs(graph);
    model::ProbeInput input = {.hidden = hidden.view(graph, 0, rows.size()),
                               .positions = inputs.positions(positions_of(rows)),
                               .wants_mean = request.mean && asks,
                               .wants_rows = request.rows && asks,
                               .rows_are_logits = request.rows_are_logits,
                               .wants_heads = request.heads && asks,
                               .wants_key_norms = request.key_norms};
    const MaskRule rule = {graph.config->window_of(request.layer),
                           graph.config->family->images_see_both_ways};
    if (asks) add_queries(request.queries, rows, rule, inputs, input);
    if (input.wants_heads) {
        const auto head_width = static_cast<std::size_t>(graph.config->head_width);
        input.ones = inputs.floats(std::vector<float>(head_width, 1.0F), head_width);
    }
    const model::ProbeOutput output = model::build_probe(graph, request.layer, input);
    CLASP_RETURN_IF_ERROR(workspace.run(graph, inputs, cancel));
    if (output.mean != nullptr) values.mean = read_floats(output.mean);
    if (output.rows != nullptr) values.rows = read_floats(output.rows);
    if (output.heads != nullptr) values.heads = read_floats(output.heads);
    if (output.rotation_bias != nullptr) values.rotation_bias = read_floats(output.rotation_bias);
    if (output.key_norms != nullptr) values.key_norms = read_floats(output.key_norms);
    return values;
}

}  // namespace

Result<ProbeValues> probe_block(Workspace& workspace, const HiddenRows& hidden, const ProbeRequest& request,
                                std::span<const LiveRow> rows, const std::atomic<bool>* cancel) {
    // The probabilities of one group of queries, all heads, take at most 256 MiB.
    constexpr std::size_t kMaxEntries = std::size_t{1} << 26;
    const auto n_heads = static_cast<std::size_t>(workspace.model().config().n_heads);
    const std::size_t per_query = rows.size() * n_heads;
    const std::size_t group = std::max<std::size_t>(1, kMaxEntries / per_query);
    const std::size_t m = request.queries.size();
    ProbeRequest part = request;
    ProbeValues values;
    for (std::size_t begin = 0; begin == 0 || begin < m; begin += group) {
        const std::size_t n = std::min(group, m - begin);
        part.queries = request.queries.subspan(begin, n);
        CLASP_ASSIGN_OR_RETURN(ProbeValues seen, probe_queries(workspace, hidden, part, rows, cancel));
        part.key_norms = false;
        if (begin == 0) {
            values = std::move(seen);
            if (n < m) {
                for (float& mean : values.mean) mean *= static_cast<float>(n) / static_cast<float>(m);
            }
            continue;
        }
        values.rows.insert(values.rows.end(), seen.rows.begin(), seen.rows.end());
        append_queries(seen.rotation_bias, rows.size(), 1, values.rotation_bias);
        append_queries(seen.heads, rows.size(), n_heads, values.heads);
        for (std::size_t i = 0; i < seen.mean.size(); ++i) {
            values.mean[i] += seen.mean[i] * (static_cast<float>(n) / static_cast<float>(m));
        }
    }
    return values;
}

}  // namespace clasp::engine
