// Text behind a prompt on its way through the decoder, some layers at a time, so that whoever runs it can do
// other things in between. The state between two steps is the hidden rows.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "clasp/status.h"
#include "engine/hidden_rows.h"
#include "engine/sequence.h"
#include "engine/workspace.h"

namespace clasp::engine {

// Borrows the executor's workspace and the sequence, which nobody else uses meanwhile. One call at a time,
// and none while the executor does something else. Executor::start_extending() makes them.
class ExtendRun {
   public:
    // batch_rows: tokens that go through the layers together.
    ExtendRun(Workspace& workspace, Sequence& sequence, std::vector<std::int32_t> tokens,
              std::size_t batch_rows);
    // A run that is given up leaves the sequence as it was before.
    ~ExtendRun();
    ExtendRun(const ExtendRun&) = delete;
    ExtendRun& operator=(const ExtendRun&) = delete;

    // Runs up to n_layers more blocks. The numbers do not depend on how a run is cut. After an error, or when
    // cancel was set, the run is over.
    Status advance(std::size_t n_layers, const std::atomic<bool>* cancel);
    [[nodiscard]] bool is_done() const { return n_done_ == tokens_.size(); }
    // Of the blocks over all tokens, those that have run.
    [[nodiscard]] double share_done() const;
    // Of the last token, once it is done.
    [[nodiscard]] std::vector<float> take_logits() { return std::move(logits_); }

   private:
    // Of the tokens that go through the layers now.
    [[nodiscard]] std::size_t n_under_way() const { return std::min(batch_rows_, tokens_.size() - n_done_); }
    // Blocks next_ ... last - 1 over these.
    Status run_blocks(std::size_t last, const std::atomic<bool>* cancel);

    Workspace& workspace_;
    Sequence& sequence_;
    const std::vector<std::int32_t> tokens_;
    const std::size_t batch_rows_;
    const std::size_t n_before_;  // tokens of the sequence
    std::size_t n_done_ = 0;      // tokens that all layers have
    std::size_t next_ = 0;        // the first block that has not run over those under way
    // Of these, where a step ended between two blocks.
    std::optional<HiddenRows> hidden_;
    std::vector<float> logits_;
};

}  // namespace clasp::engine
