#include "engine/decoder_session.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"

namespace clasp::engine {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// The places of a visual part that lost tokens before the decoder.
Status check_places(const PromptPart& part, std::size_t n_rows, const std::string& name) {
    if (!part.places.empty() && part.places.size() != n_rows) {
        return {Code::InvalidArgument, name + " has " + std::to_string(part.places.size()) + " places for " +
                                           std::to_string(n_rows) + " tokens"};
    }
    for (const std::int32_t place : part.places) {
        if (place < 0 || place >= part.n_unpruned) {
            return {Code::InvalidArgument,
                    name + " has place " + std::to_string(place) + " of " + std::to_string(part.n_unpruned)};
        }
    }
    if (!part.masses.empty() && part.masses.size() != n_rows) {
        return {Code::InvalidArgument, name + " has " + std::to_string(part.masses.size()) + " masses for " +
                                           std::to_string(n_rows) + " tokens"};
    }
    for (const float mass : part.masses) {
        if (!std::isfinite(mass) || mass <= 0.0F) {
            return {Code::InvalidArgument, name + " has a mass that is not positive"};
        }
    }
    return ok_status();
}

// The rows of a prompt that was checked.
std::vector<LiveRow> rows_of_parts(const PrefillRequest& request, std::size_t width) {
    std::vector<LiveRow> rows;
    std::int32_t n_visual = 0;
    std::int32_t unpruned = 0;  // where the part begins in the unpruned prompt
    for (const PromptPart& part : request.parts) {
        const std::size_t n = part.tokens.empty() ? part.embeddings.size() / width : part.tokens.size();
        for (std::size_t i = 0; i < n; ++i) {
            LiveRow row;
            row.sequence_index = static_cast<std::int32_t>(rows.size());
            const auto place = part.places.empty() ? static_cast<std::int32_t>(i) : part.places[i];
            row.position = request.positions == PositionRule::Compact ? row.sequence_index : unpruned + place;
            if (part.tokens.empty()) row.visual_index = n_visual++;
            if (!part.masses.empty()) row.mass = part.masses[i];
            rows.push_back(row);
        }
        unpruned += part.places.empty() ? static_cast<std::int32_t>(n) : part.n_unpruned;
    }
    return rows;
}

Status check_parts(const PrefillRequest& request, const model::TextConfig& config,
                   std::vector<bool>& is_visual) {
    const auto width = static_cast<std::size_t>(config.width);
    for (std::size_t i = 0; i < request.parts.size(); ++i) {
        const PromptPart& part = request.parts[i];
        const std::string name = "part " + std::to_string(i) + " of the prompt";
        if (part.tokens.empty() == part.embeddings.empty()) {
            return {Code::InvalidArgument, name + " must be either tokens or embeddings"};
        }
        for (const std::int32_t token : part.tokens) {
            if (token < 0 || token >= config.vocabulary) {
                return {Code::InvalidArgument, name + " has token " + std::to_string(token) +
                                                   ", but the vocabulary has " +
                                                   std::to_string(config.vocabulary)};
            }
        }
        if (part.embeddings.size() % width != 0) {
            return {Code::InvalidArgument, name + " has " + std::to_string(part.embeddings.size()) +
                                               " floats, not a multiple of the width " +
                                               std::to_string(width)};
        }
        const auto bad = std::find_if(part.embeddings.begin(), part.embeddings.end(),
                                      [](float x) { return !std::isfinite(x); });
        if (bad != part.embeddings.end()) {
            const auto row = static_cast<std::size_t>(bad - part.embeddings.begin()) / width;
            return {Code::InvalidArgument, "visual token " + std::to_string(row) + " in " + name +
                                               " has an entry that is not finite"};
        }
        CLASP_RETURN_IF_ERROR(check_places(part, part.embeddings.size() / width, name));
        is_visual.insert(is_visual.end(), part.tokens.size(), false);
        is_visual.insert(is_visual.end(), part.embeddings.size() / width, true);
    }
    if (is_visual.empty()) return {Code::InvalidArgument, "the prompt is empty"};
    return ok_status();
}

Status check_length(std::size_t n_rows, std::int32_t room, std::int32_t context_length) {
    if (room < 0) return {Code::InvalidArgument, "the room for generation is negative"};
    const auto limit = static_cast<std::size_t>(context_length);
    if (n_rows + static_cast<std::size_t>(room) > limit) {
        return {Code::TooLarge, "the prompt has " + std::to_string(n_rows) + " tokens and " +
                                    std::to_string(room) + " more may follow, but the model's context is " +
                                    std::to_string(limit)};
    }
    return ok_status();
}

Status check_stages(const PrefillRequest& request, const std::vector<bool>& is_visual,
                    std::int32_t n_layers) {
    const auto in_prompt = [&](std::int32_t token) {
        return token >= 0 && static_cast<std::size_t>(token) < is_visual.size();
    };
    std::int32_t previous = -1;
    for (const PrefillStage& stage : request.stages) {
        const std::int32_t last = stage.mode == StageMode::After ? n_layers - 2 : n_layers - 1;
        if (stage.layer <= previous || stage.layer > last) {
            return {Code::InvalidArgument, "stage layer " + std::to_string(stage.layer) + " is not above " +
                                               std::to_string(previous) + " and at most " +
                                               std::to_string(last)};
        }
        previous = stage.layer;
        for (const std::int32_t token : stage.probe.row_queries) {
            if (!in_prompt(token)) {
                return {Code::InvalidArgument,
                        "query token " + std::to_string(token) + " is not in the prompt"};
            }
        }
        if (stage.probe.scores && request.reference_tokens.empty()) {
            return {Code::InvalidArgument, "a stage wants scores, but there are no reference tokens"};
        }
    }
    if (!request.stages.empty() && !request.selector) {
        return {Code::InvalidArgument, "there are stages, but no selector"};
    }
    for (const std::int32_t token : request.reference_tokens) {
        if (!in_prompt(token)) {
            return {Code::InvalidArgument,
                    "reference token " + std::to_string(token) + " is not in the prompt"};
        }
        if (is_visual[static_cast<std::size_t>(token)] && request.stages.size() > 1) {
            return {Code::InvalidArgument, "reference token " + std::to_string(token) +
                                               " is a visual one, which one stage alone can ask"};
        }
    }
    return ok_status();
}

Result<std::vector<std::int32_t>> rows_of(std::span<const std::int32_t> tokens, const LiveRows& live) {
    std::vector<std::int32_t> rows;
    for (const std::int32_t token : tokens) {
        const std::int32_t row = live.find(token);
        if (row < 0) {
            return Status(Code::InvalidArgument,
                          "query token " + std::to_string(token) + " was dropped before");
        }
        rows.push_back(row);
    }
    return rows;
}

}  // namespace

Result<std::unique_ptr<DecoderSession>> DecoderSession::create(std::shared_ptr<const model::TextModel> model,
                                                               const DecoderOptions& options) {
    CLASP_ASSIGN_OR_RETURN(auto runner, BlockRunner::create(std::move(model), options));
    return std::unique_ptr<DecoderSession>(new DecoderSession(std::move(runner)));
}

Result<PrefillResult> DecoderSession::prefill(const PrefillRequest& request) {
    const Clock::time_point start = Clock::now();
    runner_->clear();
    next_position_ = 0;
    room_ = 0;
    const model::TextConfig& config = model().config();
    std::vector<bool> is_visual;
    CLASP_RETURN_IF_ERROR(check_parts(request, config, is_visual));
    CLASP_RETURN_IF_ERROR(check_stages(request, is_visual, config.n_layers));
    LiveRows live(rows_of_parts(request, static_cast<std::size_t>(config.width)));
    const std::int32_t end = live.rows().back().position + 1;
    CLASP_RETURN_IF_ERROR(check_length(static_cast<std::size_t>(end), request.room, config.context_length));
    PrefillResult result;
    runner_->set_cancel(request.cancel);
    Status status = run_prompt(request, live, result);
    runner_->set_cancel(nullptr);
    if (!status.ok()) {
        runner_->clear();
        return status;
    }
    next_position_ = end;
    room_ = request.room;
    result.logits.assign(runner_->logits().begin(), runner_->logits().end());
    result.kv_bytes = kv().bytes();
    result.prefill_ms = ms_since(start) - result.select_ms;
    return result;
}

Status DecoderSession::run_prompt(const PrefillRequest& request, LiveRows& live, PrefillResult& result) {
    CLASP_RETURN_IF_ERROR(runner_->embed(request.parts));
    std::size_t next = 0;  // the first block that has not run
    for (std::size_t i = 0; i < request.stages.size(); ++i) {
        const PrefillStage& stage = request.stages[i];
        const auto layer = static_cast<std::size_t>(stage.layer);
        CLASP_RETURN_IF_ERROR(run_blocks(next, layer, live, request.room, result));
        next = layer;
        StageSight sight;
        Clock::time_point start = Clock::now();
        CLASP_RETURN_IF_ERROR(probe(request, stage, live, sight));
        result.probe_ms += ms_since(start);
        if (stage.mode == StageMode::After) {
            CLASP_RETURN_IF_ERROR(run_blocks(next, layer + 1, live, request.room, result));
            next = layer + 1;
        }
        start = Clock::now();
        CLASP_RETURN_IF_ERROR(look_at_hidden(stage.probe, live, sight));
        result.probe_ms += ms_since(start);
        CLASP_ASSIGN_OR_RETURN(const StageChoice choice, choose(request, i, live, sight, result));
        CLASP_RETURN_IF_ERROR(drop(request, choice, stage.layer, live, result));
    }
    return run_blocks(next, model().weights().blocks.size(), live, request.room, result);
}

Status DecoderSession::run_blocks(std::size_t first, std::size_t last, const LiveRows& live,
                                  std::int32_t room, PrefillResult& result) {
    if (first == last) return ok_status();
    CLASP_RETURN_IF_ERROR(runner_->run(first, last, live.rows(), room));
    result.rows_per_layer.resize(last, static_cast<std::int32_t>(live.size()));
    result.visual_per_layer.resize(last, static_cast<std::int32_t>(live.visual().size()));
    return ok_status();
}

Status DecoderSession::probe(const PrefillRequest& request, const PrefillStage& stage, const LiveRows& live,
                             StageSight& sight) {
    const StageProbe& wanted = stage.probe;
    const auto layer = static_cast<std::size_t>(stage.layer);
    const std::vector<std::int32_t> visual = visual_rows(live.rows());
    const std::size_t n = live.size();
    ProbeValues seen;
    if (wanted.scores || wanted.key_norms) {
        std::vector<std::int32_t> references;
        if (wanted.scores) {
            CLASP_ASSIGN_OR_RETURN(references, rows_of(request.reference_tokens, live));
        }
        CLASP_RETURN_IF_ERROR(runner_->probe(
            {.layer = layer, .queries = references, .mean = wanted.scores, .key_norms = wanted.key_norms},
            live.rows(), seen));
        sight.scores = columns(seen.mean, n, visual);
        sight.key_norms = columns(seen.key_norms, n, visual);
        if (wanted.text) {
            sight.text_key_norms = columns(seen.key_norms, n, text_rows_after_images(live.rows()));
        }
    }
    if (!wanted.row_queries.empty()) {
        CLASP_ASSIGN_OR_RETURN(const auto queries, rows_of(wanted.row_queries, live));
        CLASP_RETURN_IF_ERROR(runner_->probe({.layer = layer,
                                              .queries = queries,
                                              .rows = !wanted.rows_per_head,
                                              .rows_are_logits = wanted.rows_are_logits,
                                              .heads = wanted.rows_per_head},
                                             live.rows(), seen));
        sight.rows = columns(wanted.rows_per_head ? seen.heads : seen.rows, n, visual);
        sight.rotation_bias = columns(seen.rotation_bias, n, visual);
    }
    return ok_status();
}

Status DecoderSession::look_at_hidden(const StageProbe& wanted, const LiveRows& live, StageSight& sight) {
    if (!wanted.hidden && !wanted.hidden_after_norm) return ok_status();
    const auto look = [&](std::span<const std::int32_t> rows) -> Result<std::vector<float>> {
        if (rows.empty()) return std::vector<float>();
        if (wanted.hidden_after_norm) return runner_->normed_hidden(rows);
        return runner_->hidden(rows);
    };
    CLASP_ASSIGN_OR_RETURN(sight.hidden, look(visual_rows(live.rows())));
    if (wanted.text) {
        CLASP_ASSIGN_OR_RETURN(sight.text_hidden, look(text_rows_after_images(live.rows())));
    }
    return ok_status();
}

Result<StageChoice> DecoderSession::choose(const PrefillRequest& request, std::size_t stage,
                                           const LiveRows& live, const StageSight& sight,
                                           PrefillResult& result) {
    const std::vector<TokenIndex> visual = live.visual();
    StageView view = sight.view();
    view.layer = request.stages[stage].layer;
    view.stage = stage;
    view.live = visual;
    const Clock::time_point start = Clock::now();
    Result<StageChoice> choice = request.selector(view);
    result.select_ms += ms_since(start);
    if (!choice.ok()) {
        return choice.status().with_context("the stage at layer " + std::to_string(view.layer));
    }
    return choice;
}

Status DecoderSession::drop(const PrefillRequest& request, const StageChoice& choice, std::int32_t layer,
                            LiveRows& live, PrefillResult& result) {
    const std::size_t before = live.visual().size();
    CLASP_ASSIGN_OR_RETURN(const auto merged, merged_rows(choice, live));
    auto rows = live.apply(choice, request.positions);
    if (!rows.ok()) return rows.status().with_context("the stage at layer " + std::to_string(layer));
    if (live.size() == 0) {
        return {Code::InvalidArgument,
                "the stage at layer " + std::to_string(layer) + " keeps no token at all"};
    }
    result.stages.push_back({layer, before, live.visual().size()});
    CLASP_RETURN_IF_ERROR(runner_->gather(*rows));
    for (const auto& [token, values] : merged) {
        for (std::size_t row = 0; row < live.size(); ++row) {
            if (live.rows()[row].visual_index == static_cast<std::int32_t>(token)) {
                runner_->set_hidden(row, values);
            }
        }
    }
    return ok_status();
}

// The hidden states of the merged tokens, before anything moves.
Result<std::vector<std::pair<TokenIndex, std::vector<float>>>> DecoderSession::merged_rows(
    const StageChoice& choice, const LiveRows& live) const {
    std::vector<std::pair<TokenIndex, std::vector<float>>> result;
    if (choice.merged.empty()) return result;
    std::map<TokenIndex, std::int32_t> row_of;
    for (const std::int32_t row : visual_rows(live.rows())) {
        row_of[static_cast<TokenIndex>(live.rows()[static_cast<std::size_t>(row)].visual_index)] = row;
    }
    for (const MergedToken& merged : choice.merged) {
        std::vector<float> sum(static_cast<std::size_t>(model().config().width));
        for (const MergedToken::Source& source : merged.sources) {
            const auto found = row_of.find(source.token);
            if (found == row_of.end() || !std::isfinite(source.weight)) {
                return Status(Code::InvalidArgument, "a selection merges visual token " +
                                                         std::to_string(source.token) +
                                                         ", which is not alive");
            }
            const std::vector<float> values = runner_->hidden(std::span(&found->second, 1));
            for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += source.weight * values[i];
        }
        result.emplace_back(merged.token, std::move(sum));
    }
    return result;
}

Result<std::vector<float>> DecoderSession::embed(std::span<const std::int32_t> tokens) {
    runner_->clear();
    next_position_ = 0;
    room_ = 0;
    const std::vector<PromptPart> parts = {{.tokens = tokens}};
    PrefillRequest request;
    request.parts = parts;
    std::vector<bool> is_visual;
    CLASP_RETURN_IF_ERROR(check_parts(request, model().config(), is_visual));
    CLASP_RETURN_IF_ERROR(runner_->embed(parts));
    std::vector<std::int32_t> rows(tokens.size());
    std::iota(rows.begin(), rows.end(), 0);
    std::vector<float> values = runner_->hidden(rows);
    runner_->clear();
    return values;
}

Result<std::span<const float>> DecoderSession::decode(std::int32_t token, const std::atomic<bool>* cancel) {
    const model::TextConfig& config = model().config();
    if (next_position_ == 0) return Status(Code::InvalidArgument, "nothing to continue: there was no prompt");
    if (token < 0 || token >= config.vocabulary) {
        return Status(Code::InvalidArgument, "token " + std::to_string(token) +
                                                 " is outside the vocabulary of " +
                                                 std::to_string(config.vocabulary));
    }
    if (room_ == 0) {
        return Status(Code::TooLarge,
                      "no room for another token after position " + std::to_string(next_position_ - 1));
    }
    runner_->set_cancel(cancel);
    const Status status = runner_->decode(token);
    runner_->set_cancel(nullptr);
    if (!status.ok()) return status;
    ++next_position_;
    --room_;
    return runner_->logits();
}

}  // namespace clasp::engine
