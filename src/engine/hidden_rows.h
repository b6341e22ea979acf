// The hidden states of a prompt between two graphs, on the device where the model's weights are.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "clasp/status.h"
#include "engine/prefill.h"
#include "engine/workspace.h"

namespace clasp::engine {

class HiddenRows {
   public:
    // Takes the parts of a prompt in: embeddings as they are, tokens looked up.
    static Result<HiddenRows> embed(Workspace& workspace, std::span<const PromptPart> parts,
                                    const std::atomic<bool>* cancel);

    [[nodiscard]] std::size_t size() const { return n_rows_; }
    // Rows first ... first + n - 1 in a graph, [width, n].
    [[nodiscard]] ggml_tensor* view(const model::DecoderGraph& graph, std::size_t first, std::size_t n) const;
    // Copies of rows, rows.size() x width.
    [[nodiscard]] std::vector<float> read(std::span<const std::int32_t> rows) const;
    // The same after the model's last norm.
    Result<std::vector<float>> read_normed(Workspace& workspace, std::span<const std::int32_t> rows,
                                           const std::atomic<bool>* cancel) const;
    // Keeps the given rows, in their order, and forgets the others.
    Status gather(Workspace& workspace, std::span<const std::int32_t> rows, const std::atomic<bool>* cancel);
    // Replaces rows from `row` on; values are whole rows.
    void set(std::size_t row, std::span<const float> values);

   private:
    struct Free {
        void operator()(ggml_context* context) const { ggml_free(context); }
        void operator()(ggml_backend_buffer_t buffer) const { ggml_backend_buffer_free(buffer); }
    };
    HiddenRows() = default;
    Status allocate(const model::TextModel& model, std::size_t n_rows);
    Status look_up(Workspace& workspace, std::span<const std::int32_t> tokens, std::size_t first_row,
                   const std::atomic<bool>* cancel);

    std::unique_ptr<ggml_context, Free> context_;
    std::unique_ptr<ggml_backend_buffer, Free> buffer_;
    ggml_tensor* tensor_ = nullptr;  // [width, capacity] F32
    std::size_t n_rows_ = 0;
};

}  // namespace clasp::engine
