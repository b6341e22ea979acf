#include "engine/executor.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "engine/hidden_rows.h"
#include "engine/prefill_check.h"

namespace clasp::engine {

Result<std::unique_ptr<Executor>> Executor::create(std::shared_ptr<const model::TextModel> model,
                                                   const ExecutorOptions& options) {
    if (options.batch_rows < 1) return Status(Code::InvalidArgument, "a batch needs at least one row");
    CLASP_ASSIGN_OR_RETURN(Workspace workspace, Workspace::create(std::move(model)));
    return std::unique_ptr<Executor>(new Executor(std::move(workspace), options));
}

Executor::Executor(Workspace workspace, const ExecutorOptions& options)
    : options_(options), workspace_(std::move(workspace)) {}

Result<std::unique_ptr<PrefillRun>> Executor::start(Sequence& sequence, const PrefillRequest& request) {
    return PrefillRun::start(workspace_, sequence, request, static_cast<std::size_t>(options_.batch_rows));
}

Result<PrefillResult> Executor::prefill(Sequence& sequence, const PrefillRequest& request) {
    CLASP_ASSIGN_OR_RETURN(const auto run, start(sequence, request));
    CLASP_RETURN_IF_ERROR(run->advance(std::numeric_limits<std::size_t>::max()));
    return run->take_result();
}

Result<std::vector<float>> Executor::embed(std::span<const std::int32_t> tokens) {
    const std::vector<PromptPart> parts = {{.tokens = tokens}};
    CLASP_RETURN_IF_ERROR(check_parts(parts, model().config()));
    CLASP_ASSIGN_OR_RETURN(const HiddenRows hidden, HiddenRows::embed(workspace_, parts, nullptr));
    std::vector<std::int32_t> rows(tokens.size());
    std::iota(rows.begin(), rows.end(), 0);
    return hidden.read(rows);
}

Result<LogitRows> Executor::step(std::span<const NextToken> batch, const std::atomic<bool>* cancel) {
    std::vector<TokenRun> runs;
    runs.reserve(batch.size());
    for (const NextToken& next : batch) runs.push_back({next.sequence, std::span(&next.token, 1)});
    CLASP_RETURN_IF_ERROR(check(runs));
    // One rotation serves the rows of a graph, so sequences with other factors go in one of their own.
    const auto vocabulary = static_cast<std::size_t>(model().config().vocabulary);
    std::vector<float> all(runs.size() * vocabulary);
    std::vector<bool> is_done(runs.size(), false);
    for (std::size_t first = 0; first < runs.size(); ++first) {
        if (is_done[first]) continue;
        std::vector<TokenRun> together;
        std::vector<std::size_t> numbers;
        for (std::size_t i = first; i < runs.size(); ++i) {
            if (runs[i].sequence->rope_factors() != runs[first].sequence->rope_factors()) continue;
            together.push_back(runs[i]);
            numbers.push_back(i);
        }
        const Status status = run_tokens(together, cancel);
        if (!status.ok()) {
            for (std::size_t i = 0; i < runs.size(); ++i) {
                if (!is_done[i]) continue;
                CLASP_RETURN_IF_ERROR(runs[i].sequence->cut_back(runs[i].sequence->tokens().size() - 1));
            }
            return status;
        }
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            std::copy_n(logits_.begin() + static_cast<std::ptrdiff_t>(i * vocabulary), vocabulary,
                        all.begin() + static_cast<std::ptrdiff_t>(numbers[i] * vocabulary));
            is_done[numbers[i]] = true;
        }
    }
    logits_ = std::move(all);
    return LogitRows(logits_, vocabulary);
}

Result<std::span<const float>> Executor::step(Sequence& sequence, std::int32_t token,
                                              const std::atomic<bool>* cancel) {
    const NextToken next = {&sequence, token};
    CLASP_ASSIGN_OR_RETURN(const LogitRows rows, step(std::span(&next, 1), cancel));
    return rows[0];
}

Result<std::unique_ptr<ExtendRun>> Executor::start_extending(Sequence& sequence,
                                                             std::span<const std::int32_t> tokens) {
    const TokenRun whole = {&sequence, tokens};
    CLASP_RETURN_IF_ERROR(check(std::span(&whole, 1)));
    return std::make_unique<ExtendRun>(workspace_, sequence,
                                       std::vector<std::int32_t>(tokens.begin(), tokens.end()),
                                       static_cast<std::size_t>(options_.batch_rows));
}

Result<std::span<const float>> Executor::extend(Sequence& sequence, std::span<const std::int32_t> tokens,
                                                const std::atomic<bool>* cancel) {
    CLASP_ASSIGN_OR_RETURN(const auto run, start_extending(sequence, tokens));
    CLASP_RETURN_IF_ERROR(run->advance(std::numeric_limits<std::size_t>::max(), cancel));
    logits_ = run->take_logits();
    return std::span<const float>(logits_);
}

}  // namespace clasp::engine
