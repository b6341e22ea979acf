// A stage of a prompt: look, let the selector choose, drop.
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "base/stopwatch.h"
#include "engine/prefill_run.h"
#include "engine/stage_probe.h"

namespace clasp::engine {

Result<std::vector<std::int32_t>> PrefillRun::rows_of(std::span<const std::int32_t> tokens) const {
    std::vector<std::int32_t> rows;
    for (const std::int32_t token : tokens) {
        const std::int32_t row = live_.find(token);
        if (row < 0) {
            return Status(Code::InvalidArgument,
                          "query token " + std::to_string(token) + " was dropped before");
        }
        rows.push_back(row);
    }
    return rows;
}

Status PrefillRun::probe(const PrefillStage& stage, StageSight& sight) {
    const StageProbe& wanted = stage.probe;
    const auto layer = static_cast<std::size_t>(stage.layer);
    const std::vector<std::int32_t> visual = visual_rows(live_.rows());
    const std::size_t n = live_.size();
    const auto look = [&](ProbeRequest request) {
        request.rope_factors = sequence_.rope_factors();
        return probe_block(workspace_, hidden_, request, live_.rows(), request_.cancel);
    };
    if (wanted.scores || wanted.key_norms) {
        std::vector<std::int32_t> references;
        if (wanted.scores) {
            CLASP_ASSIGN_OR_RETURN(references, rows_of(request_.reference_tokens));
        }
        CLASP_ASSIGN_OR_RETURN(const ProbeValues seen, look({.layer = layer,
                                                             .queries = references,
                                                             .mean = wanted.scores,
                                                             .key_norms = wanted.key_norms}));
        sight.scores = columns(seen.mean, n, visual);
        sight.key_norms = columns(seen.key_norms, n, visual);
        if (wanted.text) {
            sight.text_key_norms = columns(seen.key_norms, n, text_rows_after_images(live_.rows()));
        }
    }
    if (!wanted.row_queries.empty()) {
        CLASP_ASSIGN_OR_RETURN(const auto queries, rows_of(wanted.row_queries));
        CLASP_ASSIGN_OR_RETURN(const ProbeValues seen, look({.layer = layer,
                                                             .queries = queries,
                                                             .rows = !wanted.rows_per_head,
                                                             .rows_are_logits = wanted.rows_are_logits,
                                                             .heads = wanted.rows_per_head}));
        sight.rows = columns(wanted.rows_per_head ? seen.heads : seen.rows, n, visual);
        sight.rotation_bias = columns(seen.rotation_bias, n, visual);
    }
    return ok_status();
}

Status PrefillRun::look_at_hidden(const StageProbe& wanted, StageSight& sight) {
    if (!wanted.hidden && !wanted.hidden_after_norm) return ok_status();
    const auto look = [&](std::span<const std::int32_t> rows) -> Result<std::vector<float>> {
        if (rows.empty()) return std::vector<float>();
        if (wanted.hidden_after_norm) return hidden_.read_normed(workspace_, rows, request_.cancel);
        return hidden_.read(rows);
    };
    CLASP_ASSIGN_OR_RETURN(sight.hidden, look(visual_rows(live_.rows())));
    if (wanted.text) {
        CLASP_ASSIGN_OR_RETURN(sight.text_hidden, look(text_rows_after_images(live_.rows())));
    }
    return ok_status();
}

Result<StageChoice> PrefillRun::choose(const PrefillStage& stage, const StageSight& sight) {
    const std::vector<TokenIndex> visual = live_.visual();
    StageView view = sight.view();
    view.layer = stage.layer;
    view.mode = stage.mode;
    view.stage = next_stage_;
    view.live = visual;
    const base::Stopwatch watch;
    Result<StageChoice> choice = request_.selector(view);
    result_.select_ms += watch.elapsed_ms();
    if (!choice.ok()) {
        return choice.status().with_context("the stage at layer " + std::to_string(view.layer));
    }
    return choice;
}

Status PrefillRun::drop(const StageChoice& choice, std::int32_t layer) {
    const std::size_t before = live_.visual().size();
    CLASP_ASSIGN_OR_RETURN(const auto merged, merged_rows(choice));
    auto rows = live_.apply(choice, request_.positions);
    if (!rows.ok()) return rows.status().with_context("the stage at layer " + std::to_string(layer));
    if (live_.size() == 0) {
        return {Code::InvalidArgument,
                "the stage at layer " + std::to_string(layer) + " keeps no token at all"};
    }
    result_.stages.push_back({layer, before, live_.visual().size(), live_.n_fixed()});
    CLASP_RETURN_IF_ERROR(hidden_.gather(workspace_, *rows, request_.cancel));
    for (const auto& [token, values] : merged) {
        for (std::size_t row = 0; row < live_.size(); ++row) {
            if (live_.rows()[row].visual_index == static_cast<std::int32_t>(token)) {
                hidden_.set(row, values);
            }
        }
    }
    return ok_status();
}

// The hidden states of the merged tokens, before anything moves.
Result<std::vector<std::pair<TokenIndex, std::vector<float>>>> PrefillRun::merged_rows(
    const StageChoice& choice) const {
    std::vector<std::pair<TokenIndex, std::vector<float>>> result;
    if (choice.merged.empty()) return result;
    std::map<TokenIndex, std::int32_t> row_of;
    for (const std::int32_t row : visual_rows(live_.rows())) {
        row_of[static_cast<TokenIndex>(live_.rows()[static_cast<std::size_t>(row)].visual_index)] = row;
    }
    for (const MergedToken& merged : choice.merged) {
        std::vector<float> sum(static_cast<std::size_t>(workspace_.model().config().width));
        for (const MergedToken::Source& source : merged.sources) {
            const auto found = row_of.find(source.token);
            if (found == row_of.end() || !std::isfinite(source.weight)) {
                return Status(Code::InvalidArgument, "a selection merges visual token " +
                                                         std::to_string(source.token) +
                                                         ", which is not alive");
            }
            const std::vector<float> values = hidden_.read(std::span(&found->second, 1));
            for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += source.weight * values[i];
        }
        result.emplace_back(merged.token, std::move(sum));
    }
    return result;
}

}  // namespace clasp::engine
