// What a device needs to run graphs over one model: memory for their descriptions, a scheduler and its
// buffers for intermediate results, reused from graph to graph.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "clasp/status.h"
#include "engine/graph_inputs.h"
#include "model/backend.h"
#include "model/decoder.h"
#include "model/text_model.h"

namespace clasp::engine {

// One graph at a time.
class Workspace {
   public:
    static Result<Workspace> create(std::shared_ptr<const model::TextModel> model);

    // Forgets the graph before and starts one with rows of up to `n_sequences` sequences. A number larger
    // than ever before costs a new scheduler.
    Result<model::DecoderGraph> start(std::size_t n_sequences = 1);
    // Places the graph, fills its inputs and runs it.
    Status run(const model::DecoderGraph& graph, const GraphInputs& inputs, const std::atomic<bool>* cancel,
               const model::GraphProgress& progress = {});

    [[nodiscard]] const model::TextModel& model() const { return *model_; }
    // Bytes held for intermediate results.
    [[nodiscard]] std::size_t bytes() const { return runner_->buffer_bytes(); }

   private:
    explicit Workspace(std::shared_ptr<const model::TextModel> model) : model_(std::move(model)) {}
    Status make_room(std::size_t n_sequences);

    std::shared_ptr<const model::TextModel> model_;
    std::size_t n_sequences_ = 0;  // for which there is room
    model::GraphContext graph_;
    std::unique_ptr<model::GraphRunner> runner_;
};

// All values of an F32 tensor of a graph that ran.
std::vector<float> read_floats(const ggml_tensor* tensor);

}  // namespace clasp::engine
