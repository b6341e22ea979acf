// libllama itself, run over the weights of a loaded TextModel: the oracle for what our graphs compute.
#pragma once

#include <llama.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/prefill.h"
#include "model/text_model.h"

namespace clasp::test {

class LlamaOracle {
   public:
    // Room for n_cells tokens; one thread unless told otherwise. libllama uses the model's weights as they
    // lie in the file, not the repacked copies, unless another handle of the same file is given.
    LlamaOracle(const model::TextModel& model, std::uint32_t n_cells, std::int32_t n_threads = 1,
                llama_model* handle = nullptr);

    // Forgets everything and runs a prompt as one batch of embeddings. (In several batches, small ones
    // would run on ggml's half-precision attention path and blur the comparison.) Where tokens of a picture
    // see each other, each part is a batch, as libmtmd does it. Empty on failure.
    std::vector<float> prefill(std::span<const engine::PromptPart> parts, bool wants_all = false);
    // The logits of every row of the last prefill() that wanted them, one after the other.
    [[nodiscard]] const std::vector<float>& all_logits() const { return all_logits_; }
    // Runs one more token. Empty on failure.
    std::vector<float> decode(std::int32_t token);

   private:
    struct Free {
        void operator()(llama_context* context) const { llama_free(context); }
    };
    // Text rows as the first block gets them, visual rows as they are.
    [[nodiscard]] std::vector<float> rows_of(const engine::PromptPart& part) const;
    // Each row with what is added to it later behind it; nothing is for text.
    [[nodiscard]] std::vector<float> with_additions(const engine::PromptPart& part,
                                                    const std::vector<float>& rows) const;
    // Moves n_past_ past the part.
    std::vector<model::Position> positions_of(const engine::PromptPart& part);
    bool run(std::vector<float>& rows, std::span<const model::Position> positions, bool wants_all);
    [[nodiscard]] std::vector<float> logits() const;

    const model::TextModel& model_;
    std::unique_ptr<llama_context, Free> context_;
    std::vector<float> all_logits_;
    std::int32_t n_past_ = 0;
};

}  // namespace clasp::test
