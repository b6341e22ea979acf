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
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/stopwatch.h"
#include "clasp/engine.h"
#include "clasp/status.h"
#include "engine/ask_plan.h"
#include "engine/decoder_input.h"
#include "engine/engine_state.h"
#include "engine/extend_run.h"
#include "engine/generate.h"
#include "engine/prefill_run.h"
#include "engine/progress.h"
#include "engine/scoped_starts.h"
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

// Times the decoder if a request before was decided without them; once nobody waits for a first token.
void learn_decoder_times(const EngineState& state, Lane& lane);

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

    // The same question with other words about how to write its answer: the prompt is read once for all of
    // them. Before it is read; each needs callbacks and a cancel flag of its own.
    void also_answer(std::vector<AskRequest> others) { others_ = std::move(others); }
    // Those, once this one has been read: in phase Write, or Done.
    std::vector<std::unique_ptr<AskRun>> take_others() { return std::move(twins_); }

    // Phase See: encodes the pictures or finds their layers, and lays the prompt out. pause is called again
    // and again meanwhile, about every block of the tower: other runs may write then, with the same lane, and
    // false gives this one up (Cancelled). May be empty.
    Status see(Lane& lane, const std::function<bool()>& pause = {});
    // What a run that was given up can begin anew with.
    std::unique_ptr<AskPlan> take_plan() { return std::move(plan_); }
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
    Result<StageChoice> choose(const StageView& view);
    Status begin_writing();
    Status write_after(std::vector<float> logits);
    // Another answer behind the same prompt, which has just been read.
    [[nodiscard]] Result<std::unique_ptr<AskRun>> twin(AskRequest request,
                                                       std::span<const float> logits) const;
    void finish();
    // What this run tells about the next, and what it would have taken unpruned.
    void learn_times();

    // ---- Questions that follow others (ask_follow_up.cpp) ----

    // Looks for a turn to go on from; if there is one that will do, the run is to be read.
    Status look_back(Lane& lane);
    // What the tokens of a question before lack for this one; nothing: that cannot be told.
    Result<std::optional<double>> missed_by(Lane& lane, const Choice& choice) const;
    Status go_on_from(const FoundTurn& found);
    Status read_on(Lane& lane, std::size_t n_layers);
    Status begin_writing_on();
    void keep_turn();

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
    std::optional<ScopedStarts> starts_;
    std::unique_ptr<PrefillRun> reading_;
    std::unique_ptr<ExtendRun> reading_on_;  // of a question that follows, instead
    double reading_on_ms_ = 0.0;
    std::unique_ptr<Generation> writing_;
    std::optional<std::int32_t> next_token_;
    double before_writing_ms_ = 0.0;
    Answer answer_;

    std::vector<AskRequest> others_;
    std::vector<std::unique_ptr<AskRun>> twins_;
    bool is_twin_ = false;

    std::string turn_key_;  // empty: this turn is not kept
    Answer described_;      // what answer_ is before anything is written, without times and notes
    std::vector<std::shared_ptr<const PreparedPicture>> prepared_;
    std::vector<KeptAtStage> kept_;
    SharedStart front_;
    std::shared_ptr<const Choice> choice_;  // of the question whose tokens are reused; null: this one chooses
    std::vector<std::int32_t> more_;        // text behind that
    HistoryReport history_;
    std::vector<std::string> history_notes_;
    double look_back_ms_ = 0.0;
};

}  // namespace clasp::engine
