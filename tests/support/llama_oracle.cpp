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

std::vector<float> LlamaOracle::rows_of(const engine::PromptPart& part) const {
    const auto width = static_cast<std::size_t>(model_.config().width);
    const ggml_tensor* table = model_.weights().token_embedding;
    std::vector<float> rows(part.embeddings.begin(), part.embeddings.end());
    for (const std::int32_t token : part.tokens) {
        const auto* row =
            static_cast<const std::uint8_t*>(table->data) + static_cast<std::size_t>(token) * table->nb[1];
        rows.resize(rows.size() + width);
        float* out = rows.data() + rows.size() - width;
        if (table->type == GGML_TYPE_F32) {
            std::memcpy(out, row, width * sizeof(float));
        } else {
            ggml_get_type_traits(table->type)->to_float(row, out, model_.config().width);
        }
        // libllama scales what it looks up itself, not the rows of a batch of embeddings.
        for (std::size_t i = 0; i < width; ++i) out[i] *= model_.config().embedding_scale;
    }
    // Except here: it scales any row, pictures too, which no model of this architecture has.
    if (model_.config().architecture == "gemma2") {
        for (float& value : rows) value /= model_.config().embedding_scale;
    }
    return rows;
}

std::vector<float> LlamaOracle::with_additions(const engine::PromptPart& part,
                                               const std::vector<float>& rows) const {
    const auto width = static_cast<std::size_t>(model_.config().width);
    const std::size_t n_more = static_cast<std::size_t>(model_.config().n_deepstack) * width;
    std::vector<float> all;
    for (std::size_t i = 0; i < rows.size() / width; ++i) {
        const auto row = rows.begin() + static_cast<std::ptrdiff_t>(i * width);
        all.insert(all.end(), row, row + static_cast<std::ptrdiff_t>(width));
        if (part.additions.empty()) {
            all.insert(all.end(), n_more, 0.0F);
        } else {
            const auto more = part.additions.subspan(i * n_more, n_more);
            all.insert(all.end(), more.begin(), more.end());
        }
    }
    return all;
}

std::vector<model::Position> LlamaOracle::positions_of(const engine::PromptPart& part) {
    std::vector<model::Position> positions;
    if (!part.offsets.empty()) {
        for (const model::Position& offset : part.offsets) {
            positions.push_back(
                {{n_past_ + offset.planes[0], n_past_ + offset.planes[1], n_past_ + offset.planes[2], 0}});
        }
        n_past_ += part.n_positions;
        return positions;
    }
    const std::size_t n = std::max(part.tokens.size(),
                                   part.embeddings.size() / static_cast<std::size_t>(model_.config().width));
    for (std::size_t i = 0; i < n; ++i) {
        positions.push_back({{n_past_, n_past_, n_past_, 0}});
        ++n_past_;
    }
    return positions;
}

std::vector<float> LlamaOracle::prefill(std::span<const engine::PromptPart> parts, bool wants_all) {
    if (context_ == nullptr) return {};
    llama_memory_clear(llama_get_memory(context_.get()), true);
    n_past_ = 0;
    all_logits_.clear();
    const bool is_by_part = model_.config().family->images_see_both_ways;
    std::vector<float> rows;
    std::vector<model::Position> positions;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::vector<float> more = with_additions(parts[i], rows_of(parts[i]));
        rows.insert(rows.end(), more.begin(), more.end());
        const std::vector<model::Position> places = positions_of(parts[i]);
        positions.insert(positions.end(), places.begin(), places.end());
        if (!is_by_part && i + 1 < parts.size()) continue;
        llama_set_causal_attn(context_.get(), !is_by_part || !parts[i].tokens.empty());
        if (!run(rows, positions, wants_all)) return {};
        rows.clear();
        positions.clear();
    }
    llama_set_causal_attn(context_.get(), true);
    return logits();
}

std::vector<float> LlamaOracle::decode(std::int32_t token) {
    if (context_ == nullptr) return {};
    llama_batch batch = llama_batch_init(1, 0, 1);
    batch.n_tokens = 1;
    batch.token[0] = token;
    batch.pos[0] = n_past_++;
    batch.n_seq_id[0] = 1;
    batch.seq_id[0][0] = 0;
    batch.logits[0] = 1;
    const bool ok = llama_decode(context_.get(), batch) == 0;
    llama_batch_free(batch);
    return ok ? logits() : std::vector<float>();
}

bool LlamaOracle::run(std::vector<float>& rows, std::span<const model::Position> positions, bool wants_all) {
    const std::size_t n = positions.size();
    std::vector<std::int32_t> table = model::position_table(positions, model_.config().rope.n_planes());
    std::int32_t sequence = 0;
    std::vector<std::int32_t> n_sequences(n, 1);
    std::vector<std::int32_t*> sequences(n, &sequence);
    std::vector<std::int8_t> wants_logits(n, wants_all ? 1 : 0);
    wants_logits.back() = 1;
    llama_batch batch = {};
    batch.n_tokens = static_cast<std::int32_t>(n);
    batch.embd = rows.data();
    batch.pos = table.data();
    batch.n_seq_id = n_sequences.data();
    batch.seq_id = sequences.data();
    batch.logits = wants_logits.data();
    if (llama_decode(context_.get(), batch) != 0) return false;
    for (std::size_t i = 0; wants_all && i < n; ++i) {
        const float* values = llama_get_logits_ith(context_.get(), static_cast<std::int32_t>(i));
        all_logits_.insert(all_logits_.end(), values, values + model_.config().vocabulary);
    }
    return true;
}

std::vector<float> LlamaOracle::logits() const {
    const float* values = llama_get_logits_ith(context_.get(), -1);
    if (values == nullptr) return {};
    return {values, values + model_.config().vocabulary};
}

}  // namespace clasp::test
