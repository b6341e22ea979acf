// A look at the attention of a block over the rows of a prompt, without running it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "clasp/status.h"
#include "engine/hidden_rows.h"
#include "engine/live_rows.h"
#include "engine/workspace.h"
#include "methods/stage_signals.h"

namespace clasp::engine {

struct ProbeRequest {
    std::size_t layer = 0;
    methods::StageNeeds needs = {};
    std::span<const std::int32_t> queries = {};  // the reference tokens, as rows; borrowed
    ggml_tensor* rope_factors = nullptr;         // of the sequence
};

// The signals of all rows held, text included; hidden states are not among them. Leaves the rows, which
// `rows` describes, as they are.
Result<methods::StageSignals> probe_block(Workspace& workspace, const HiddenRows& hidden,
                                          const ProbeRequest& request, std::span<const LiveRow> rows,
                                          const std::atomic<bool>* cancel);

}  // namespace clasp::engine
