// Copies of a sequence, and its way back.
#include <algorithm>
#include <string>
#include <utility>

#include "engine/sequence.h"

namespace clasp::engine {
namespace {

Status check_room(const Sequence& sequence, std::int32_t room) {
    if (sequence.is_empty()) return {Code::InvalidArgument, "nothing to continue: there was no prompt"};
    if (room < 0) return {Code::InvalidArgument, "the room for generation is negative"};
    const std::int32_t limit = sequence.model().config().context_length;
    if (room > limit - sequence.next_position()) {
        return {Code::TooLarge, "the next token has position " + std::to_string(sequence.next_position()) +
                                    " and " + std::to_string(room) +
                                    " may follow, but the model's context is " + std::to_string(limit)};
    }
    return ok_status();
}

}  // namespace

Result<Sequence> Sequence::fork() const {
    return fork(room());
}

Result<Sequence> Sequence::fork(std::int32_t room) const {
    CLASP_RETURN_IF_ERROR(check_room(*this, room));
    Sequence copy(model_, kv_.type());
    for (const LayerGroup& group : groups_) {
        CLASP_RETURN_IF_ERROR(copy.kv_.allocate(group.first, group.last, kv_.layer(group.first).used + room));
        copy.kv_.copy_layers(kv_, group.first, group.last);
    }
    copy.groups_ = groups_;
    copy.tokens_ = tokens_;
    copy.n_prompt_ = n_prompt_;
    copy.rope_factors_ = rope_factors_;
    return copy;
}

std::size_t Sequence::n_fixed() const {
    const auto last = std::find(tokens_.rbegin(), tokens_.rend(), kVisualToken);
    const auto n = static_cast<std::size_t>(tokens_.rend() - last);
    return std::max<std::size_t>(n, is_empty() ? 0 : 1);
}

Status Sequence::cut_back(std::size_t n_tokens) {
    if (n_tokens < n_fixed() || n_tokens > tokens_.size()) {
        return {Code::InvalidArgument, "a sequence of " + std::to_string(tokens_.size()) +
                                           " tokens, of which the first " + std::to_string(n_fixed()) +
                                           " stay, cannot be cut back to " + std::to_string(n_tokens)};
    }
    const std::size_t n_gone = tokens_.size() - n_tokens;
    tokens_.resize(n_tokens);
    n_prompt_ = std::min(n_prompt_, n_tokens);
    for (LayerGroup& group : groups_) {
        group.next_position -= static_cast<std::int32_t>(n_gone);
        set_held(group.first, group.last, n_held(group.first) - n_gone);
        group.keys.resize(n_held(group.first));
    }
    return ok_status();
}

Status Sequence::reserve(std::int32_t room) {
    CLASP_RETURN_IF_ERROR(check_room(*this, room));
    for (const LayerGroup& group : groups_) {
        const KvLayer& layer = kv_.layer(group.first);
        if (layer.capacity - layer.used >= room) continue;
        CLASP_RETURN_IF_ERROR(kv_.resize(group.first, group.last, layer.used + room));
    }
    return ok_status();
}

Status Sequence::trim() {
    for (const LayerGroup& group : groups_) {
        const KvLayer& layer = kv_.layer(group.first);
        if (layer.capacity == layer.used) continue;
        CLASP_RETURN_IF_ERROR(kv_.resize(group.first, group.last, layer.used));
    }
    return ok_status();
}

}  // namespace clasp::engine
