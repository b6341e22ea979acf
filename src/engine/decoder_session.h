// One conversation with a text model: a prompt that loses tokens on its way, then generation over what
// is left.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "clasp/status.h"
#include "engine/block_runner.h"
#include "engine/live_rows.h"
#include "engine/prefill.h"
#include "engine/stage_sight.h"
#include "model/text_model.h"

namespace clasp::engine {

// Not thread safe; different sessions over one model may run on different threads.
class DecoderSession {
   public:
    static Result<std::unique_ptr<DecoderSession>> create(std::shared_ptr<const model::TextModel> model,
                                                          const DecoderOptions& options = {});

    // Forgets what was there and runs a prompt. After an error the session is empty.
    Result<PrefillResult> prefill(const PrefillRequest& request);

    // The decoder's embeddings of tokens, tokens.size() x width. Forgets what was there.
    Result<std::vector<float>> embed(std::span<const std::int32_t> tokens);

    // Runs one more token and returns the logits for the next, valid until the next call.
    Result<std::span<const float>> decode(std::int32_t token, const std::atomic<bool>* cancel = nullptr);

    [[nodiscard]] const model::TextModel& model() const { return runner_->model(); }
    // Position of the next token in layer 0: its place in the unpruned sequence unless positions are
    // compact. 0 when the session is empty.
    [[nodiscard]] std::int32_t next_position() const { return next_position_; }
    // decode() calls for which cells are left.
    [[nodiscard]] std::int32_t room() const { return room_; }
    [[nodiscard]] const KvCache& kv() const { return runner_->kv(); }

   private:
    explicit DecoderSession(std::unique_ptr<BlockRunner> runner) : runner_(std::move(runner)) {}

    Status run_prompt(const PrefillRequest& request, LiveRows& live, PrefillResult& result);
    Status run_blocks(std::size_t first, std::size_t last, const LiveRows& live, std::int32_t room,
                      PrefillResult& result);
    // What a stage's block would see; the rest of a look comes from hidden states.
    Status probe(const PrefillRequest& request, const PrefillStage& stage, const LiveRows& live,
                 StageSight& sight);
    Status look_at_hidden(const StageProbe& probe, const LiveRows& live, StageSight& sight);
    Result<StageChoice> choose(const PrefillRequest& request, std::size_t stage, const LiveRows& live,
                               const StageSight& sight, PrefillResult& result);
    Status drop(const PrefillRequest& request, const StageChoice& choice, std::int32_t layer, LiveRows& live,
                PrefillResult& result);

    [[nodiscard]] Result<std::vector<std::pair<TokenIndex, std::vector<float>>>> merged_rows(
        const StageChoice& choice, const LiveRows& live) const;

    std::unique_ptr<BlockRunner> runner_;
    std::int32_t next_position_ = 0;
    std::int32_t room_ = 0;
};

}  // namespace clasp::engine
