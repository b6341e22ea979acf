// A request under way, in steps, so that whoever has several can let them take turns: pictures are seen, the
// prompt is read some layers at a time, the answer is written token by token, one token of several requests
// in one graph.
//
//     run->see(lane);
//     while (run->phase() == AskRun::Phase::Read) run->read(lane, n_layers);
//     while (run->phase() == AskRun::Phase::Write) AskRun::write(lane, {run.get()});
//     Answer answer = run->take_answer();
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/stopwatch.h"
#include "clasp/engine.h"
#include "clasp/status.h"
#include "engine/ask_plan.h"
#include "engine/decoder_input.h"
#include "engine/engine_state.h"
#include "engine/generate.h"
#include "engine/prefill_run.h"
#include "engine/progress.h"
#include "engine/stage_chooser.h"
#include "engine/visual_input.h"

namespace clasp::engine {

// What requests that take turns compute with: one call at a time, whichever request it is for. The engine
// must outlive it.
class Lane {
   public:
    static Result<std::unique_ptr<Lane>> open(const EngineState& state);
    [[nodiscard]] Executor& executor() const { return *executor_; }

   private:
    explicit Lane(SessionPool<Executor>::Lease executor) : executor_(std::move(executor)) {}
    SessionPool<Executor>::Lease executor_;
};

// All calls come from one thread and with one lane. After an error the run is over: only its destructor is
// left.
class AskRun {
   public:
    enum class Phase : std::uint8_t { See, Read, Write, Done };

    // Nothing is computed yet. The engine must outlive the run.
    // since: when the request came, for its times.
    AskRun(const EngineState& state, std::unique_ptr<AskPlan> plan, base::Stopwatch since);
    AskRun(const AskRun&) = delete;
    AskRun& operator=(const AskRun&) = delete;

    [[nodiscard]] Phase phase() const { return phase_; }
    [[nodiscard]] const AskPlan& plan() const { return *plan_; }

    // Phase See: encodes the pictures or finds their layers, and lays the prompt out.
    Status see(Lane& lane);
    // Phase Read: up to n_layers more layers. How a prompt is cut changes no number.
    Status read(Lane& lane, std::size_t n_layers);
    // Phase Write: one more token of each, in one graph; those that end with it are Done. cancel stops the
    // whole step and may be null; a request's own flag is looked at between steps. After an error of the
    // graph no run has moved.
    static Status write(Lane& lane, std::span<AskRun* const> runs, const std::atomic<bool>* cancel);

    // Phase Done.
    Answer take_answer();

   private:
    // Hands the logits behind the last token on and finds the next one, or the end.
    void take_logits(std::span<const float> logits);
    Status begin_reading(Lane& lane);
    Status begin_writing();
    void finish();

    const EngineState& state_;
    std::unique_ptr<AskPlan> plan_;
    base::Stopwatch watch_;
    std::optional<model::Compute::Work> work_;
    Phase phase_ = Phase::See;
    VisualInput visual_;
    std::optional<StageChooser> chooser_;
    DecoderInput input_;
    std::optional<PhaseReport> prefilling_;
    std::optional<Sequence> sequence_;
    std::unique_ptr<PrefillRun> reading_;
    std::unique_ptr<Generation> writing_;
    std::optional<std::int32_t> next_token_;
    double before_writing_ms_ = 0.0;
    Answer answer_;
};

}  // namespace clasp::engine
