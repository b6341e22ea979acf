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
    // would run on ggml's half-precision attention path and blur the comparison.) Empty on failure.
    std::vector<float> prefill(std::span<const engine::PromptPart> parts);
    // Runs one more token. Empty on failure.
    std::vector<float> decode(std::int32_t token);

   private:
    struct Free {
        void operator()(llama_context* context) const { llama_free(context); }
    };
    bool run(llama_batch& batch, std::size_t n);
    std::vector<float> logits() const;

    const model::TextModel& model_;
    std::unique_ptr<llama_context, Free> context_;
    std::int32_t n_past_ = 0;
};

}  // namespace clasp::test
