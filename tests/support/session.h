// An executor with one sequence, for tests that need no more.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "engine/executor.h"
#include "engine/sequence.h"

namespace clasp::test {

struct SessionOptions {
    ggml_type kv_type = GGML_TYPE_F16;
    std::int32_t batch_rows = 2048;
};

class Session {
   public:
    explicit Session(const std::shared_ptr<const model::TextModel>& model, const SessionOptions& options = {})
        : executor_(std::move(engine::Executor::create(model, {.batch_rows = options.batch_rows})).value()),
          sequence_(std::move(engine::Sequence::create(model, {.kv_type = options.kv_type})).value()) {}

    Result<engine::PrefillResult> prefill(const engine::PrefillRequest& request) {
        return executor_->prefill(sequence_, request);
    }
    Result<std::span<const float>> decode(std::int32_t token) { return executor_->step(sequence_, token); }
    [[nodiscard]] const engine::Sequence& sequence() const { return sequence_; }

   private:
    std::unique_ptr<engine::Executor> executor_;
    engine::Sequence sequence_;
};

}  // namespace clasp::test
