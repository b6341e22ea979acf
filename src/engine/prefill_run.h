// A prompt on its way through the decoder, layer by layer, so that whoever runs it can do other things in
// between (prefill.h says what happens at stages). The state between two steps is the hidden rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "clasp/status.h"
#include "engine/hidden_rows.h"
#include "engine/live_rows.h"
#include "engine/prefill.h"
#include "engine/sequence.h"
#include "engine/workspace.h"

namespace clasp::engine {

// Borrows the executor's workspace, the sequence and all that the request borrows; they must outlive it and
// stay where they are. The sequence is empty for everybody else until the prompt is done, and empty again
// when the prompt fails or is given up. One call at a time, and none while the executor does something else.
class PrefillRun {
   public:
    // Checks the request, forgets what the sequence had and looks the tokens up.
    static Result<std::unique_ptr<PrefillRun>> start(Workspace& workspace, Sequence& sequence,
                                                     PrefillRequest request, std::size_t batch_rows);
    ~PrefillRun();
    PrefillRun(const PrefillRun&) = delete;
    PrefillRun& operator=(const PrefillRun&) = delete;

    // Runs up to n_layers more blocks, with the stages before, between and, for StageMode::After, behind
    // them. The numbers do not depend on how a prompt is cut. After an error the run is over.
    Status advance(std::size_t n_layers);
    [[nodiscard]] bool is_done() const { return phase_ == Phase::Done; }
    // Tokens that no layer computes again.
    [[nodiscard]] std::size_t n_known() const { return result_.n_prefix_found; }

    // What the visual tokens are worth to the reference tokens of the stage that comes next, without
    // choosing: StageSignals::scores, in the order of the live tokens. The stage must be where the run is,
    // and ask for scores.
    Result<std::vector<float>> look_ahead();

    // Once it is done. Times are those inside start() and advance().
    PrefillResult take_result();

   private:
    enum class Phase : std::uint8_t { Running, Done, Failed };

    PrefillRun(Workspace& workspace, Sequence& sequence, PrefillRequest request, std::size_t batch_rows,
               std::vector<LiveRow> rows, HiddenRows hidden);

    Status run_until(std::size_t last);
    [[nodiscard]] const PrefillStage* stage_here() const;
    // Up to where the rows stay as they are and nobody looks at them.
    [[nodiscard]] std::size_t segment_end() const;
    Status run_stage();
    Status run_blocks(std::size_t last);
    Status run_piece(std::size_t last, std::size_t begin, std::size_t end);
    // What live rows begin ... end - 1 get after a block, [width, n]; null: nothing.
    ggml_tensor* additions(GraphInputs& inputs, std::size_t layer, std::size_t begin, std::size_t end) const;
    void finish();

    // ---- Beginnings of prompts that are kept (prefill_start.cpp) ----

    // What of this prompt is there from before, and what of it is to be kept.
    void find_starts();
    [[nodiscard]] bool fits(const PromptStart& start, std::size_t n_rows, std::size_t n_layers) const;
    // The start that has the cells of block next_; null: none, its rows are all to be computed.
    [[nodiscard]] const PromptStart* known() const;
    // Puts the cells that are known into layers that were just added, and notes how they are computed.
    void fill_layers(std::size_t last);
    // Rows that are known get the values that enter block next_; a front that is complete is kept.
    void arrive();
    void keep_front();
    // What a graph that runs rows from the first on leaves of a prefix: `hidden` leaves block `layer`.
    void watch_prefix(const model::DecoderGraph& graph, std::size_t layer, ggml_tensor* hidden);
    void read_prefix();
    void keep_prefix();
    // Whether the first piece of the live rows is large enough for attention in single precision.
    [[nodiscard]] bool is_precise() const;

    // What the stage's block would see; the rest of a look comes from hidden states.
    Status look_at_block(const PrefillStage& stage, StageView& view);
    Status look_at_hidden(const methods::StageNeeds& needs, StageView& view);
    Result<StageChoice> choose(const PrefillStage& stage, StageView& view);
    Status drop(const StageChoice& choice, std::int32_t layer);
    [[nodiscard]] Result<std::vector<std::pair<TokenIndex, std::vector<float>>>> merged_rows(
        const StageChoice& choice) const;
    [[nodiscard]] std::vector<std::int32_t> rows_of(std::span<const std::int32_t> tokens) const;

    Workspace& workspace_;
    Sequence& sequence_;
    PrefillRequest request_;
    std::size_t batch_rows_;
    LiveRows live_;
    HiddenRows hidden_;
    std::vector<std::int32_t> tokens_;  // as they entered
    // Per token as it entered: PromptPart::additions of its row, or null. Tokens that are merged at a stage
    // keep what the one had whose place they take.
    std::vector<const float*> additions_;
    std::size_t next_ = 0;  // the first block that has not run
    std::size_t next_stage_ = 0;
    Phase phase_ = Phase::Running;
    PrefillResult result_;

    StartRows start_rows_;
    std::size_t front_layers_ = 0;  // before the first stage
    std::string prefix_key_;        // empty: not to be kept
    std::string front_key_;
    SharedStart prefix_;
    SharedStart front_;
    bool has_front_ = false;              // the rows of front_ are what enters front_layers_
    std::shared_ptr<PromptStart> taken_;  // a prefix that is being taken down
    std::vector<std::pair<std::size_t, ggml_tensor*>> watched_;  // what enters which block, of one graph
};

}  // namespace clasp::engine
