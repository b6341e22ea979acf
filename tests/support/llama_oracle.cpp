#include "support/llama_oracle.h"

#include <algorithm>
#include <cstring>

namespace clasp::test {

LlamaOracle::LlamaOracle(const model::TextModel& model, std::uint32_t n_cells, std::int32_t n_threads,
                         llama_model* handle)
    : model_(model) {
    llama_context_params params = llama_context_default_params();
    params.n_ctx = n_cells;
    params.n_batch = n_cells;
    params.n_ubatch = n_cells;
    params.n_threads = n_threads;
    params.n_threads_batch = n_threads;
    params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;
    // The C interface wants a model it may change, but creating a context does not.
    context_.reset(
        llama_init_from_model(handle != nullptr ? handle : const_cast<llama_model*>(model.handle()), params));
}

std::vector<float> LlamaOracle::prefill(std::span<const engine::PromptPart> parts) {
    if (context_ == nullptr) return {};
    llama_memory_clear(llama_get_memory(context_.get()), true);
    n_past_ = 0;
    const auto width = static_cast<std::size_t>(model_.config().width);
    const ggml_tensor* table = model_.weights().token_embedding;
    std::vector<float> rows;
    for (const engine::PromptPart& part : parts) {
        rows.insert(rows.end(), part.embeddings.begin(), part.embeddings.end());
        for (const std::int32_t token : part.tokens) {
            const auto* row = static_cast<const std::uint8_t*>(table->data) +
                              static_cast<std::size_t>(token) * table->nb[1];
            rows.resize(rows.size() + width);
            float* out = rows.data() + rows.size() - width;
            if (table->type == GGML_TYPE_F32) {
                std::memcpy(out, row, width * sizeof(float));
            } else {
                ggml_get_type_traits(table->type)->to_float(row, out, model_.config().width);
            }
        }
    }
    const std::size_t n = rows.size() / width;
    llama_batch batch = llama_batch_init(static_cast<std::int32_t>(n), model_.config().width, 1);
    std::copy(rows.begin(), rows.end(), batch.embd);
    const bool ok = run(batch, n);
    llama_batch_free(batch);
    return ok ? logits() : std::vector<float>();
}

std::vector<float> LlamaOracle::decode(std::int32_t token) {
    if (context_ == nullptr) return {};
    llama_batch batch = llama_batch_init(1, 0, 1);
    batch.token[0] = token;
    const bool ok = run(batch, 1);
    llama_batch_free(batch);
    return ok ? logits() : std::vector<float>();
}

bool LlamaOracle::run(llama_batch& batch, std::size_t n) {
    batch.n_tokens = static_cast<std::int32_t>(n);
    for (std::size_t i = 0; i < n; ++i) {
        batch.pos[i] = n_past_ + static_cast<std::int32_t>(i);
        batch.n_seq_id[i] = 1;
        batch.seq_id[i][0] = 0;
        batch.logits[i] = i + 1 == n ? 1 : 0;
    }
    n_past_ += batch.n_tokens;
    return llama_decode(context_.get(), batch) == 0;
}

std::vector<float> LlamaOracle::logits() const {
    const float* values = llama_get_logits_ith(context_.get(), -1);
    if (values == nullptr) return {};
    return {values, values + model_.config().vocabulary};
}

}  // namespace clasp::test
