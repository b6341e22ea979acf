#include "engine/decoder_session.h"

#include <algorithm>
#include <chrono>
#include <cmath>
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
        if (!in_prompt(token) || is_visual[static_cast<std::size_t>(token)]) {
            return {Code::InvalidArgument,
                    "reference token " + std::to_string(token) + " is not a text token of the prompt"};
        }
    }
    return ok_status();
}

// Keeps the columns of visual rows of a table with one column per row.
std::vector<float> visual_columns(const std::vector<float>& table, std::span<const LiveRow> rows) {
    std::vector<float> result;
    for (std::size_t i = 0; i < table.size(); ++i) {
        if (rows[i % rows.size()].visual_index >= 0) result.push_back(table[i]);
    }
    return result;
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
    CLASP_RETURN_IF_ERROR(check_length(is_visual.size(), request.room, config.context_length));
    CLASP_RETURN_IF_ERROR(check_stages(request, is_visual, config.n_layers));

    LiveRows live(is_visual);
    PrefillResult result;
    runner_->set_cancel(request.cancel);
    Status status = run_prompt(request, live, result);
    runner_->set_cancel(nullptr);
    if (!status.ok()) {
        runner_->clear();
        return status;
    }
    next_position_ = static_cast<std::int32_t>(is_visual.size());
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
        CLASP_ASSIGN_OR_RETURN(const StageChoice choice, choose(request, i, live, result));
        if (stage.mode == StageMode::After) {
            CLASP_RETURN_IF_ERROR(run_blocks(next, layer + 1, live, request.room, result));
            next = layer + 1;
        }
        CLASP_RETURN_IF_ERROR(drop(choice, stage.layer, live, result));
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

Result<StageChoice> DecoderSession::choose(const PrefillRequest& request, std::size_t stage,
                                           const LiveRows& live, PrefillResult& result) {
    const Clock::time_point start = Clock::now();
    const StageProbe& probe = request.stages[stage].probe;
    const auto layer = static_cast<std::size_t>(request.stages[stage].layer);
    const std::vector<TokenIndex> visual = live.visual();
    StageView view = {.layer = request.stages[stage].layer, .stage = stage, .live = visual};

    ProbeValues seen;
    std::vector<float> scores;
    std::vector<float> norms;
    if (probe.scores || probe.key_norms) {
        std::vector<std::int32_t> references;
        if (probe.scores) {
            CLASP_ASSIGN_OR_RETURN(references, rows_of(request.reference_tokens, live));
        }
        CLASP_RETURN_IF_ERROR(runner_->probe(
            {.layer = layer, .queries = references, .mean = probe.scores, .key_norms = probe.key_norms},
            live.rows(), seen));
        scores = visual_columns(seen.mean, live.rows());
        norms = visual_columns(seen.key_norms, live.rows());
        view.scores = scores;
        view.key_norms = norms;
    }
    std::vector<float> rows;
    if (!probe.row_queries.empty()) {
        CLASP_ASSIGN_OR_RETURN(const auto queries, rows_of(probe.row_queries, live));
        CLASP_RETURN_IF_ERROR(runner_->probe(
            {.layer = layer, .queries = queries, .rows = true, .rows_are_logits = probe.rows_are_logits},
            live.rows(), seen));
        rows = visual_columns(seen.rows, live.rows());
        view.rows = rows;
    }
    std::vector<float> hidden;
    if (probe.hidden) {
        std::vector<std::int32_t> visual_rows;
        for (std::size_t i = 0; i < live.size(); ++i) {
            if (live.rows()[i].visual_index >= 0) visual_rows.push_back(static_cast<std::int32_t>(i));
        }
        hidden = runner_->hidden(visual_rows);
        view.hidden = hidden;
    }
    result.probe_ms += ms_since(start);

    const Clock::time_point select_start = Clock::now();
    Result<StageChoice> choice = request.selector(view);
    result.select_ms += ms_since(select_start);
    if (!choice.ok()) {
        return choice.status().with_context("the stage at layer " + std::to_string(view.layer));
    }
    return choice;
}

Status DecoderSession::drop(const StageChoice& choice, std::int32_t layer, LiveRows& live,
                            PrefillResult& result) {
    const std::size_t before = live.visual().size();
    auto rows = live.apply(choice);
    if (!rows.ok()) return rows.status().with_context("the stage at layer " + std::to_string(layer));
    if (live.size() == 0) {
        return {Code::InvalidArgument,
                "the stage at layer " + std::to_string(layer) + " keeps no token at all"};
    }
    result.stages.push_back({layer, before, live.visual().size()});
    return runner_->gather(*rows);
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
    const Status status = runner_->decode(token, next_position_);
    runner_->set_cancel(nullptr);
    if (!status.ok()) return status;
    ++next_position_;
    --room_;
    return runner_->logits();
}

}  // namespace clasp::engine
