// Inputs of a graph: made while it is built, filled once it is placed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "engine/live_rows.h"
#include "engine/row_masks.h"
#include "ggml.h"
#include "model/decoder.h"
#include "model/positions.h"

namespace clasp::engine {

// The positions of rows, for the rotation of queries and keys.
std::vector<model::Position> positions_of(std::span<const LiveRow> rows);

class GraphInputs {
   public:
    explicit GraphInputs(const model::DecoderGraph& graph)
        : context_(graph.context), n_planes_(graph.config->rope.n_planes()) {}

    ggml_tensor* integers(std::span<const std::int32_t> values);  // [n] I32
    ggml_tensor* floats(std::span<const float> values, std::size_t n0, std::size_t n1 = 1);
    ggml_tensor* positions(std::span<const model::Position> positions);  // [planes * n] I32
    // The mask of the last n of these rows over all of them. Null when there is nothing to say: one query
    // that sees every key as it is.
    ggml_tensor* mask(std::span<const MaskRow> rows, std::size_t n, const MaskRule& rule);

    // Writes the values of all inputs that the placed graph reads.
    void upload() const;

   private:
    ggml_tensor* add(ggml_type type, std::size_t n0, std::size_t n1, const void* values, std::size_t n_bytes);

    ggml_context* context_;
    std::size_t n_planes_;
    std::vector<std::pair<ggml_tensor*, std::vector<std::byte>>> inputs_;
};

// The masks of consecutive layers over the same rows: one per distinct window, made when it is first asked
// for.
class LayerMasks {
   public:
    // The last n rows are queries, all are keys.
    LayerMasks(std::vector<MaskRow> rows, std::size_t n) : rows_(std::move(rows)), n_(n) {}

    // What block `layer` adds to its logits; may be null.
    ggml_tensor* get(GraphInputs& inputs, const model::TextConfig& config, std::size_t layer);

   private:
    std::vector<MaskRow> rows_;
    std::size_t n_;
    std::vector<std::pair<std::int32_t, ggml_tensor*>> masks_;  // by window
};

}  // namespace clasp::engine
