#include "engine/prompt_start.h"

#include "engine/key_hash.h"
#include "engine/prefill.h"

namespace clasp::engine {

namespace {

void add_kind(KeyHash& hash, const StartKind& kind) {
    hash.add_number(static_cast<std::uint64_t>(kind.kv_type));
    hash.add_number(static_cast<std::uint64_t>(kind.rope));
    hash.add_number(kind.n_layers);
    hash.add_number(kind.is_precise ? 1U : 0U);
}

}  // namespace

std::size_t PromptStart::bytes() const {
    std::size_t n = behind.size() * sizeof(float);
    for (const Layer& layer : layers) {
        n += layer.keys.size() + layer.values.size() + layer.hidden.size() * sizeof(float);
    }
    return n;
}

StartRows start_rows(std::span<const LiveRow> rows) {
    StartRows found;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].image < 0 && !rows[i].is_carried) continue;
        if (found.n_front == 0) found.n_prefix = i;
        found.n_front = i + 1;
    }
    return found;
}

std::string prefix_key(std::span<const std::int32_t> tokens, const StartKind& kind) {
    KeyHash hash("prefix");
    add_kind(hash, kind);
    hash.add_values(tokens);
    return hash.finish();
}

std::string front_key(std::span<const PromptPart> parts, std::span<const LiveRow> rows,
                      const StartKind& kind) {
    KeyHash hash("front");
    add_kind(hash, kind);
    hash.add_number(parts.size());
    for (const PromptPart& part : parts) {
        hash.add_values(part.tokens);
        hash.add_values(part.embeddings);
        hash.add_values(part.additions);
    }
    hash.add_number(rows.size());
    for (const LiveRow& row : rows) {
        hash.add_values(std::span<const std::int32_t>(row.position.planes));
        hash.add_number(static_cast<std::uint64_t>(std::int64_t{row.image}));
        hash.add_values(std::span(&row.mass, 1));
    }
    return hash.finish();
}

}  // namespace clasp::engine
