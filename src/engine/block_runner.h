// Runs decoder blocks over the rows of a prompt and, later, over single tokens. It owns what outlives a
// graph: the hidden states between two runs, and the keys and values. Which rows are there, and which
// leave, is decided by its caller.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "clasp/status.h"
#include "engine/kv_cache.h"
#include "engine/prefill.h"
#include "model/backend.h"
#include "model/decoder.h"
#include "model/text_model.h"

namespace clasp::engine {

struct DecoderOptions {
    ggml_type kv_type = GGML_TYPE_F16;  // or F32
    // Rows that one graph processes; longer prompts go in pieces. More rows cost more memory for
    // intermediate results.
    std::int32_t batch_rows = 2048;
};

// What to look at before a block, and what was seen. Columns are all rows held, text included.
struct ProbeRequest {
    std::size_t layer = 0;
    std::span<const std::int32_t> queries = {};  // rows
    bool mean = false;
    bool rows = false;
    bool rows_are_logits = false;
    bool heads = false;
    bool key_norms = false;
};
struct ProbeValues {
    std::vector<float> mean;
    std::vector<float> rows;           // queries x columns
    std::vector<float> heads;          // heads x queries x columns
    std::vector<float> rotation_bias;  // queries x columns; with heads
    std::vector<float> key_norms;
};

// Not thread safe. After an error call clear() before anything else.
class BlockRunner {
   public:
    static Result<std::unique_ptr<BlockRunner>> create(std::shared_ptr<const model::TextModel> model,
                                                       const DecoderOptions& options);
    ~BlockRunner();
    BlockRunner(const BlockRunner&) = delete;
    BlockRunner& operator=(const BlockRunner&) = delete;

    void clear();
    void set_cancel(const std::atomic<bool>* cancel) { cancel_ = cancel; }

    // Takes the rows of a prompt in: embeddings as they are, tokens looked up.
    Status embed(std::span<const PromptPart> parts);
    // Runs blocks first ... last - 1 over all rows held, which `rows` describes, and reserves cells for
    // them and `room` more in those layers. The last block of the model computes no more than the logits
    // of the last row need.
    Status run(std::size_t first, std::size_t last, std::span<const LiveRow> rows, std::int64_t room);
    // Leaves the rows as they are.
    Status probe(const ProbeRequest& request, std::span<const LiveRow> rows, ProbeValues& values);
    // Copies of rows held, rows.size() x width.
    [[nodiscard]] std::vector<float> hidden(std::span<const std::int32_t> rows) const;
    // The same after the model's last norm.
    Result<std::vector<float>> normed_hidden(std::span<const std::int32_t> rows);
    // Keeps the given rows, in their order, and forgets the others.
    Status gather(std::span<const std::int32_t> rows);
    // Replaces one row held.
    void set_hidden(std::size_t row, std::span<const float> values);
    // All blocks over one more token, at the position after the last one of each layer.
    Status decode(std::int32_t token);

    // Of the last run() that reached the last block, or of the last decode().
    [[nodiscard]] std::span<const float> logits() const { return logits_; }
    [[nodiscard]] const KvCache& kv() const { return kv_; }
    [[nodiscard]] const model::TextModel& model() const { return *model_; }

   private:
    // Consecutive layers that hold the same rows of the prompt.
    struct LayerGroup {
        std::size_t first = 0;
        std::size_t last = 0;
        std::vector<float> key_bias;  // of the prompt's keys; empty when all are 0
        std::int32_t next_position = 0;
    };
    struct HiddenRows;

    BlockRunner(std::shared_ptr<const model::TextModel> model, const DecoderOptions& options,
                model::GraphContext graph, std::unique_ptr<model::GraphRunner> runner);

    Result<model::DecoderGraph> start_graph();
    [[nodiscard]] ggml_tensor* hidden_view(const model::DecoderGraph& graph, std::size_t first,
                                           std::size_t n) const;
    Status embed_tokens(std::span<const std::int32_t> tokens, std::size_t first_row);
    Status run_piece(const LayerGroup& group, std::span<const LiveRow> rows, std::span<const float> key_bias,
                     std::size_t begin, std::size_t end);
    Status probe_group(const ProbeRequest& request, std::span<const std::int32_t> queries,
                       std::span<const LiveRow> rows, ProbeValues& values);
    Status read_logits(const ggml_tensor* tensor);

    std::shared_ptr<const model::TextModel> model_;
    DecoderOptions options_;
    model::GraphContext graph_;
    std::unique_ptr<model::GraphRunner> runner_;
    std::unique_ptr<HiddenRows> hidden_;
    KvCache kv_;
    std::vector<LayerGroup> groups_;
    std::vector<float> logits_;
    const std::atomic<bool>* cancel_ = nullptr;
};

}  // namespace clasp::engine
