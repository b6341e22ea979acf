// The graph of text tokens that follow in sequences which have their prompts: one token each of several, or
// several of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/graph_inputs.h"
#include "engine/sequence.h"

namespace clasp::engine {

// Text tokens that follow in a sequence.
struct TokenRun {
    Sequence* sequence = nullptr;
    std::span<const std::int32_t> tokens;
};

// Blocks first ... last - 1 over the rows of all runs, `hidden` being what enters them, [width, rows]. The
// model's last block computes no more than the logits need: the last row of each run.
ggml_tensor* build_token_blocks(const model::DecoderGraph& graph, GraphInputs& inputs, ggml_tensor* hidden,
                                std::span<const TokenRun> runs, std::size_t first, std::size_t last);

}  // namespace clasp::engine
