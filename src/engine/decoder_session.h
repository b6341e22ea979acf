// One conversation with a text model: a prompt that loses tokens on its way, then generation over what
// is left.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "clasp/status.h"
#include "engine/block_runner.h"
#include "engine/live_rows.h"
#include "engine/prefill.h"
#include "model/text_model.h"

namespace clasp::engine {

// Not thread safe; different sessions over one model may run on different threads.
class DecoderSession {
   public:
    static Result<std::unique_ptr<DecoderSession>> create(std::shared_ptr<const model::TextModel> model,
                                                          const DecoderOptions& options = {});

    // Forgets what was there and runs a prompt. After an error the session is empty.
    Result<PrefillResult> prefill(const PrefillRequest& request);

    // Runs one more token and returns the logits for the next, valid until the next call.
    Result<std::span<const float>> decode(std::int32_t token, const std::atomic<bool>* cancel = nullptr);

    [[nodiscard]] const model::TextModel& model() const { return runner_->model(); }
    // Place of the next token in the unpruned sequence; 0 when the session is empty.
    [[nodiscard]] std::int32_t next_position() const { return next_position_; }
    // decode() calls for which cells are left.
    [[nodiscard]] std::int32_t room() const { return room_; }
    [[nodiscard]] const KvCache& kv() const { return runner_->kv(); }

   private:
    explicit DecoderSession(std::unique_ptr<BlockRunner> runner) : runner_(std::move(runner)) {}

    Status run_prompt(const PrefillRequest& request, LiveRows& live, PrefillResult& result);
    Status run_blocks(std::size_t first, std::size_t last, const LiveRows& live, std::int32_t room,
                      PrefillResult& result);
    Result<StageChoice> choose(const PrefillRequest& request, std::size_t stage, const LiveRows& live,
                               PrefillResult& result);
    Status drop(const StageChoice& choice, std::int32_t layer, LiveRows& live, PrefillResult& result);

    std::unique_ptr<BlockRunner> runner_;
    std::int32_t next_position_ = 0;
    std::int32_t room_ = 0;
};

}  // namespace clasp::engine
