// What a device needs to run a text model over sequences: graphs, a scheduler, room for intermediate
// results. It keeps nothing of a conversation, so one executor serves any number of sequences
// (sequence.h) of its model.
//
//     auto executor = Executor::create(model);
//     auto sequence = Sequence::create(model);
//     auto prompt = (*executor)->prefill(*sequence, request);
//     auto logits = (*executor)->step(*sequence, token);
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "clasp/status.h"
#include "engine/extend_run.h"
#include "engine/logit_rows.h"
#include "engine/prefill.h"
#include "engine/prefill_run.h"
#include "engine/sequence.h"
#include "engine/token_rows.h"
#include "engine/workspace.h"
#include "model/text_model.h"

namespace clasp::engine {

struct ExecutorOptions {
    // Rows that one graph processes; longer prompts go in pieces. More rows cost more memory for
    // intermediate results.
    std::int32_t batch_rows = 2048;
};

// A sequence and the token that follows in it.
struct NextToken {
    Sequence* sequence = nullptr;
    std::int32_t token = 0;
};

// One call at a time; different executors over one model may run on different threads, with different
// sequences.
class Executor {
   public:
    static Result<std::unique_ptr<Executor>> create(std::shared_ptr<const model::TextModel> model,
                                                    const ExecutorOptions& options = {});
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;

    // Forgets what the sequence had and runs a prompt. After an error the sequence is empty.
    Result<PrefillResult> prefill(Sequence& sequence, const PrefillRequest& request);
    // The same in steps: nothing but the look-up of the tokens has run when this returns. The executor can
    // do other things between the steps.
    Result<std::unique_ptr<PrefillRun>> start(Sequence& sequence, const PrefillRequest& request);

    // Runs further text tokens over a sequence that has a prompt, all at once, and returns the logits of the
    // last one, valid until the next call. The sequence must have room for them. After an error it is as
    // it was before.
    Result<std::span<const float>> extend(Sequence& sequence, std::span<const std::int32_t> tokens,
                                          const std::atomic<bool>* cancel = nullptr);
    // The same in steps: nothing has run when this returns. The executor can do other things between the
    // steps.
    Result<std::unique_ptr<ExtendRun>> start_extending(Sequence& sequence,
                                                       std::span<const std::int32_t> tokens);

    // Runs one more token of each sequence in one graph and returns the logits for the next ones. Products
    // with weights are over all rows together, attention is each sequence's own. A sequence gets what it
    // would get alone but for rounding: ggml may take another kernel for several rows than for one. With
    // which others it goes, and on how many threads, makes no difference as long as the number of sequences
    // stays the same. After an error all sequences are as they were before.
    Result<LogitRows> step(std::span<const NextToken> batch, const std::atomic<bool>* cancel = nullptr);
    Result<std::span<const float>> step(Sequence& sequence, std::int32_t token,
                                        const std::atomic<bool>* cancel = nullptr);

    // The decoder's embeddings of tokens, tokens.size() x width.
    Result<std::vector<float>> embed(std::span<const std::int32_t> tokens);

    [[nodiscard]] const model::TextModel& model() const { return workspace_.model(); }
    // Bytes held for intermediate results.
    [[nodiscard]] std::size_t workspace_bytes() const { return workspace_.bytes(); }

   private:
    Executor(Workspace workspace, const ExecutorOptions& options);

    [[nodiscard]] Status check(std::span<const TokenRun> runs) const;
    // One token each; appends them.
    Status run_tokens(std::span<const TokenRun> runs, const std::atomic<bool>* cancel);

    ExecutorOptions options_;
    Workspace workspace_;
    std::vector<float> logits_;  // of the last step or extension
};

}  // namespace clasp::engine
