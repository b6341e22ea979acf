// A stage of a prompt: look, let the selector choose, drop.
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/stopwatch.h"
#include "engine/prefill_run.h"
#include "engine/stage_probe.h"

namespace clasp::engine {

std::vector<std::int32_t> PrefillRun::rows_of(std::span<const std::int32_t> tokens) const {
    std::vector<std::int32_t> rows;
    for (const std::int32_t token : tokens) {
        rows.push_back(live_.find(token));
        CLASP_CHECK(rows.back() >= 0);  // check_prompt() refused tokens that can be dropped
    }
    return rows;
}

Status PrefillRun::look_at_block(const PrefillStage& stage, StageView& view) {
    const std::vector<std::int32_t> references = rows_of(stage.reference);
    CLASP_ASSIGN_OR_RETURN(const methods::StageSignals all,
                           probe_block(workspace_, hidden_,
                                       {.layer = static_cast<std::size_t>(stage.layer),
                                        .needs = stage.needs,
                                        .queries = references,
                                        .rope_factors = sequence_.rope_factors()},
                                       live_.rows(), request_.cancel));
    view.seen = all.of(visual_rows(live_.rows()));
    if (stage.needs.text) view.text = all.of(text_rows_after_images(live_.rows()));
    return ok_status();
}

Result<std::vector<float>> PrefillRun::look_ahead() {
    CLASP_CHECK(phase_ == Phase::Running && stage_here() != nullptr && stage_here()->needs.scores);
    arrive();
    StageView view;
    CLASP_RETURN_IF_ERROR(look_at_block(*stage_here(), view));
    const auto scores = view.seen.scores.values();
    return std::vector<float>(scores.begin(), scores.end());
}

Status PrefillRun::look_at_hidden(const methods::StageNeeds& needs, StageView& view) {
    using Hidden = methods::StageNeeds::Hidden;
    if (needs.hidden == Hidden::None) return ok_status();
    const auto width = static_cast<std::size_t>(workspace_.model().config().width);
    const auto look = [&](std::span<const std::int32_t> rows) -> Result<methods::SignalTable> {
        if (rows.empty()) return methods::SignalTable();
        if (needs.hidden == Hidden::Raw) return methods::SignalTable(hidden_.read(rows), width);
        CLASP_ASSIGN_OR_RETURN(std::vector<float> normed,
                               hidden_.read_normed(workspace_, rows, request_.cancel));
        return methods::SignalTable(std::move(normed), width);
    };
    CLASP_ASSIGN_OR_RETURN(view.seen.hidden, look(visual_rows(live_.rows())));
    if (needs.text) {
        CLASP_ASSIGN_OR_RETURN(view.text.hidden, look(text_rows_after_images(live_.rows())));
    }
    return ok_status();
}

Result<StageChoice> PrefillRun::choose(const PrefillStage& stage, StageView& view) {
    const std::vector<TokenIndex> visual = live_.visual();
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
