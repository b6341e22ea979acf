#include "engine/hidden_rows.h"

#include <string>

#include "base/check.h"
#include "ggml-alloc.h"

namespace clasp::engine {

Status HiddenRows::allocate(const model::TextModel& model, std::size_t n_rows) {
    context_.reset(ggml_init({.mem_size = ggml_tensor_overhead(), .mem_buffer = nullptr, .no_alloc = true}));
    if (context_ != nullptr) {
        tensor_ = ggml_new_tensor_2d(context_.get(), GGML_TYPE_F32, model.config().width,
                                     static_cast<std::int64_t>(n_rows));
        buffer_.reset(ggml_backend_alloc_ctx_tensors_from_buft(
            context_.get(), ggml_backend_dev_buffer_type(model.compute()->device())));
    }
    if (buffer_ == nullptr) {
        return {Code::OutOfMemory,
                "no memory for the hidden states of " + std::to_string(n_rows) + " tokens"};
    }
    n_rows_ = n_rows;
    return ok_status();
}

Result<HiddenRows> HiddenRows::embed(Workspace& workspace, std::span<const PromptPart> parts,
                                     const std::atomic<bool>* cancel) {
    const auto width = static_cast<std::size_t>(workspace.model().config().width);
    const auto rows_of = [&](const PromptPart& part) {
        return part.tokens.empty() ? part.embeddings.size() / width : part.tokens.size();
    };
    std::size_t n_rows = 0;
    for (const PromptPart& part : parts) n_rows += rows_of(part);
    HiddenRows hidden;
    CLASP_RETURN_IF_ERROR(hidden.allocate(workspace.model(), n_rows));
    std::size_t row = 0;
    for (const PromptPart& part : parts) {
        if (part.tokens.empty()) {
            ggml_backend_tensor_set(hidden.tensor_, part.embeddings.data(), row * width * sizeof(float),
                                    part.embeddings.size_bytes());
        } else {
            CLASP_RETURN_IF_ERROR(hidden.look_up(workspace, part.tokens, row, cancel));
        }
        row += rows_of(part);
    }
    return hidden;
}

Status HiddenRows::look_up(Workspace& workspace, std::span<const std::int32_t> tokens, std::size_t first_row,
                           const std::atomic<bool>* cancel) {
    CLASP_ASSIGN_OR_RETURN(const model::DecoderGraph graph, workspace.start());
    GraphInputs inputs(graph);
    ggml_tensor* looked_up = model::build_embedding(graph, inputs.integers(tokens));
    ggml_build_forward_expand(graph.graph,
                              ggml_cpy(graph.context, looked_up, view(graph, first_row, tokens.size())));
    return workspace.run(graph, inputs, cancel);
}

ggml_tensor* HiddenRows::view(const model::DecoderGraph& graph, std::size_t first, std::size_t n) const {
    return ggml_view_2d(graph.context, tensor_, tensor_->ne[0], static_cast<std::int64_t>(n), tensor_->nb[1],
                        first * tensor_->nb[1]);
}

std::vector<float> HiddenRows::read(std::span<const std::int32_t> rows) const {
    const auto width = static_cast<std::size_t>(tensor_->ne[0]);
    std::vector<float> values(rows.size() * width);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        ggml_backend_tensor_get(tensor_, values.data() + i * width,
                                static_cast<std::size_t>(rows[i]) * width * sizeof(float),
                                width * sizeof(float));
    }
    return values;
}

Result<std::vector<float>> HiddenRows::read_normed(Workspace& workspace, std::span<const std::int32_t> rows,
                                                   const std::atomic<bool>* cancel) const {
    CLASP_ASSIGN_OR_RETURN(const model::DecoderGraph graph, workspace.start());
    GraphInputs inputs(graph);
    const ggml_tensor* normed =
        model::build_final_norm(graph, view(graph, 0, n_rows_), inputs.integers(rows));
    CLASP_RETURN_IF_ERROR(workspace.run(graph, inputs, cancel));
    return read_floats(normed);
}

Status HiddenRows::gather(Workspace& workspace, std::span<const std::int32_t> rows,
                          const std::atomic<bool>* cancel) {
    bool is_same = rows.size() == n_rows_;
    for (std::size_t i = 0; is_same && i < rows.size(); ++i)
        is_same = rows[i] == static_cast<std::int32_t>(i);
    if (is_same) return ok_status();
    CLASP_ASSIGN_OR_RETURN(const model::DecoderGraph graph, workspace.start());
    GraphInputs inputs(graph);
    ggml_tensor* gathered = ggml_get_rows(graph.context, view(graph, 0, n_rows_), inputs.integers(rows));
    ggml_build_forward_expand(graph.graph, ggml_cpy(graph.context, gathered, view(graph, 0, rows.size())));
    CLASP_RETURN_IF_ERROR(workspace.run(graph, inputs, cancel));
    n_rows_ = rows.size();
    return ok_status();
}

void HiddenRows::set(std::size_t row, std::span<const float> values) {
    const auto width = static_cast<std::size_t>(tensor_->ne[0]);
    CLASP_CHECK(values.size() % width == 0 && row + values.size() / width <= n_rows_);
    ggml_backend_tensor_set(tensor_, values.data(), row * width * sizeof(float), values.size_bytes());
}

}  // namespace clasp::engine
