#include "engine/sequence.h"

#include <string>
#include <utility>

#include "base/check.h"
#include "engine/graph_inputs.h"
#include "model/decoder.h"

namespace clasp::engine {

Result<Sequence> Sequence::create(std::shared_ptr<const model::TextModel> model,
                                  const SequenceOptions& options) {
    if (options.kv_type != GGML_TYPE_F16 && options.kv_type != GGML_TYPE_F32) {
        return Status(Code::InvalidArgument, std::string("keys and values cannot be stored as ") +
                                                 ggml_type_name(options.kv_type) + ", only as f16 or f32");
    }
    return Sequence(std::move(model), options.kv_type);
}

Sequence::Sequence(std::shared_ptr<const model::TextModel> model, ggml_type kv_type)
    : model_(std::move(model)), kv_(*model_, kv_type) {}

void Sequence::clear() {
    kv_.clear();
    groups_.clear();
    tokens_.clear();
    n_prompt_ = 0;
    rope_factors_ = nullptr;
}

void Sequence::begin_prompt(std::int64_t n_positions) {
    CLASP_CHECK(groups_.empty());
    rope_factors_ = model::rope_factors_for(model_->config(), model_->weights(), n_positions);
}

std::int32_t Sequence::next_position() const {
    return is_empty() ? 0 : groups_.front().next_position;
}

std::int32_t Sequence::room() const {
    if (is_empty()) return 0;
    const KvLayer& layer = kv_.layer(0);
    return static_cast<std::int32_t>(layer.capacity - layer.used);
}

Status Sequence::add_layers(std::size_t first, std::size_t last, std::span<const LiveRow> rows,
                            std::int32_t room) {
    CLASP_CHECK(is_empty() && first < last && !rows.empty());
    CLASP_CHECK(first == (groups_.empty() ? 0 : groups_.back().last));
    CLASP_RETURN_IF_ERROR(kv_.allocate(first, last, static_cast<std::int64_t>(rows.size()) + room));
    groups_.push_back({.first = first,
                       .last = last,
                       .keys = mask_rows(rows),
                       .next_position = model::next_position(positions_of(rows), model_->config().rope)});
    return ok_status();
}

void Sequence::set_held(std::size_t first, std::size_t last, std::size_t n) {
    for (std::size_t layer = first; layer < last; ++layer) {
        kv_.layer(layer).used = static_cast<std::int64_t>(n);
    }
}

void Sequence::finish_prompt(std::vector<std::int32_t> tokens) {
    CLASP_CHECK(groups_.back().last == model_->weights().blocks.size() && !tokens.empty());
    tokens_ = std::move(tokens);
    n_prompt_ = tokens_.size();
}

void Sequence::append(std::span<const std::int32_t> tokens) {
    CLASP_CHECK(static_cast<std::int64_t>(tokens.size()) <= room());
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
    for (LayerGroup& group : groups_) {
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            group.keys.push_back({.position = group.next_position++});
        }
        for (std::size_t layer = group.first; layer < group.last; ++layer) {
            kv_.layer(layer).used += static_cast<std::int64_t>(tokens.size());
        }
    }
}

}  // namespace clasp::engine
