#include "engine/workspace.h"

#include <algorithm>
#include <utility>

namespace clasp::engine {

Result<Workspace> Workspace::create(std::shared_ptr<const model::TextModel> model) {
    Workspace workspace(std::move(model));
    CLASP_RETURN_IF_ERROR(workspace.make_room(1));
    return workspace;
}

Status Workspace::make_room(std::size_t n_sequences) {
    const std::size_t n_blocks = model_->weights().blocks.size();
    const std::size_t max_nodes =
        model::kTensorsPerBlock * (n_blocks + 2) + model::kTensorsPerSequence * n_blocks * (n_sequences - 1);
    CLASP_ASSIGN_OR_RETURN(auto graph, model::GraphContext::create(max_nodes));
    CLASP_ASSIGN_OR_RETURN(runner_, model::GraphRunner::create(model_->compute(), max_nodes));
    graph_ = std::move(graph);
    n_sequences_ = n_sequences;
    return ok_status();
}

Result<model::DecoderGraph> Workspace::start(std::size_t n_sequences) {
    // Doubling: sequences that join one by one do not cost a scheduler each.
    if (n_sequences > n_sequences_) {
        CLASP_RETURN_IF_ERROR(make_room(std::max(n_sequences, 2 * n_sequences_)));
    }
    CLASP_RETURN_IF_ERROR(graph_.reset());
    return model::DecoderGraph{graph_.ggml(), graph_.graph(), &model_->config(), &model_->weights()};
}

Status Workspace::run(const model::DecoderGraph& graph, const GraphInputs& inputs,
                      const std::atomic<bool>* cancel, const model::GraphProgress& progress) {
    CLASP_RETURN_IF_ERROR(runner_->allocate(graph.graph));
    inputs.upload();
    return runner_->compute(graph.graph, cancel, progress);
}

std::vector<float> read_floats(const ggml_tensor* tensor) {
    std::vector<float> values(static_cast<std::size_t>(ggml_nelements(tensor)));
    ggml_backend_tensor_get(tensor, values.data(), 0, ggml_nbytes(tensor));
    return values;
}

}  // namespace clasp::engine
