// A look at the attention of a block over the rows of a prompt, without running it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "clasp/status.h"
#include "engine/hidden_rows.h"
#include "engine/live_rows.h"
#include "engine/workspace.h"

namespace clasp::engine {

// What to look at before a block, and what was seen. Columns are all rows held, text included.
struct ProbeRequest {
    std::size_t layer = 0;
    std::span<const std::int32_t> queries = {};  // rows
    bool mean = false;
    bool rows = false;
    bool rows_are_logits = false;
    bool heads = false;
    bool key_norms = false;
    ggml_tensor* rope_factors = nullptr;  // of the sequence
};
struct ProbeValues {
    std::vector<float> mean;
    std::vector<float> rows;           // queries x columns
    std::vector<float> heads;          // heads x queries x columns
    std::vector<float> rotation_bias;  // queries x columns; with heads
    std::vector<float> key_norms;
};

// Leaves the rows, which `rows` describes, as they are.
Result<ProbeValues> probe_block(Workspace& workspace, const HiddenRows& hidden, const ProbeRequest& request,
                                std::span<const LiveRow> rows, const std::atomic<bool>* cancel);

}  // namespace clasp::engine
