// The decoder as ggml graphs over libllama's tensors, one block at a time: whoever runs them decides
// which rows enter which block. Shapes are in ggml's order, the contiguous dimension first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ggml.h"
#include "methods/stage_signals.h"
#include "model/text_model.h"

namespace clasp::model {

// Upper bound of the tensors that one block, or one probe, adds to a graph.
inline constexpr std::size_t kTensorsPerBlock = 80;
// What every sequence but the first adds to a block on top of that.
inline constexpr std::size_t kTensorsPerSequence = 24;

// From this many queries on, ggml's CPU backend accumulates attention in single precision; below, it sums
// values in half precision. A row is computed among so many if its prompt has them, so that its numbers do
// not depend on what of the prompt was there from before, nor on who wants only the last one.
inline constexpr std::int64_t kPreciseQueries = 64;

// What a graph is built into, and from.
struct DecoderGraph {
    ggml_context* context;
    ggml_cgraph* graph;
    const TextConfig* config;
    const TextWeights* weights;
    ggml_tensor* rope_factors = nullptr;  // of rope_factors_for()
};

// The factors of a sequence that takes n_positions from its beginning to the end of its answer; null for
// plain frequencies. All graphs of one sequence must have the same.
ggml_tensor* rope_factors_for(const TextConfig& config, const TextWeights& weights, std::int64_t n_positions);

// What enters the first block for text tokens: their rows [width, n] of ids [n] I32.
ggml_tensor* build_embedding(const DecoderGraph& graph, ggml_tensor* ids);

// Rows of one sequence in the input of a block, and the cells that its keys and values go to. Attention
// stays inside a sequence.
struct CachedRows {
    std::int64_t n = 0;
    // [n_past + n, n] F16, added to the attention logits; null when every query sees every key as it is.
    ggml_tensor* mask = nullptr;
    ggml_tensor* keys = nullptr;    // [kv_width, cells], cells n_past ... n_past + n - 1 are written
    ggml_tensor* values = nullptr;  // likewise
    std::int64_t n_past = 0;
};

struct BlockRows {
    ggml_tensor* hidden = nullptr;     // [width, n] F32
    ggml_tensor* positions = nullptr;  // [planes * n] I32, one plane after the other; see positions.h
    // One after the other they are the n rows. No two may share cells.
    std::span<const CachedRows> sequences = {};
    // Trailing rows whose output is wanted. The other rows only leave their keys and values. All n when
    // there are several sequences.
    std::int64_t n_out = 0;
};

// Adds block `layer`. Returns its output [width, n_out], or null if n_out is 0.
ggml_tensor* build_block(const DecoderGraph& graph, std::size_t layer, const BlockRows& input);

// The logits [vocabulary, n] of the last block's output [width, n].
ggml_tensor* build_head(const DecoderGraph& graph, ggml_tensor* hidden);

// A look at the attention of a block without running it: queries of a few rows against the keys of
// all, from the block's own normalised input. Without queries only what needs none is seen.
struct ProbeInput {
    ggml_tensor* hidden = nullptr;           // [width, n] F32
    ggml_tensor* positions = nullptr;        // [planes * n] I32
    ggml_tensor* query_rows = nullptr;       // [m] I32, rows of hidden; null: no queries
    ggml_tensor* query_positions = nullptr;  // [planes * m] I32
    ggml_tensor* mask = nullptr;             // [n, m] F32: 0 where the query sees the key, else -inf
};

// A signal of all n rows as the graph gives it: F32, a table as StageSignals has it.
struct ProbedSignal {
    // How values of some of the queries become those of all.
    enum class Join : std::uint8_t {
        Same,    // they do not depend on queries
        Mean,    // over the queries
        Append,  // one query after the other, in each of n_parts parts
    };
    methods::SignalTable methods::StageSignals::*table = nullptr;
    ggml_tensor* values = nullptr;
    Join join = Join::Same;
    std::size_t n_parts = 1;
};

// The last norm of the model over rows of `hidden`, as output of the graph.
ggml_tensor* build_final_norm(const DecoderGraph& graph, ggml_tensor* hidden, ggml_tensor* rows);

// Adds the signals that are needed and come from a block's attention, and marks them as output of the graph.
std::vector<ProbedSignal> build_probe(const DecoderGraph& graph, std::size_t layer, const ProbeInput& input,
                                      const methods::StageNeeds& needs);

}  // namespace clasp::model
