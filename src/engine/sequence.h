// What a conversation owns: the keys and values of its tokens, for every layer those that the layer
// processed, with their masses and positions. It computes nothing; an executor does (executor.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "clasp/status.h"
#include "engine/kv_cache.h"
#include "engine/live_rows.h"
#include "engine/row_masks.h"
#include "model/text_model.h"

namespace clasp::engine {

struct SequenceOptions {
    ggml_type kv_type = GGML_TYPE_F16;  // or F32
};

// Stands for a row of an image among the tokens of a sequence.
inline constexpr std::int32_t kVisualToken = -1;

// Consecutive layers that hold the same rows of the prompt.
struct LayerGroup {
    std::size_t first = 0;
    std::size_t last = 0;
    std::vector<MaskRow> keys;  // what masks need of the rows, in the order of the cells
    // Of the text token that comes next.
    std::int32_t next_position = 0;
};

// Not thread safe. Can be moved, but not while a prompt is under way (prefill_run.h).
class Sequence {
   public:
    static Result<Sequence> create(std::shared_ptr<const model::TextModel> model,
                                   const SequenceOptions& options = {});

    // Forgets everything and frees its memory.
    void clear();

    // A copy that goes on by itself, with its own cells and the same room, or with room for `room` tokens.
    [[nodiscard]] Result<Sequence> fork() const;
    [[nodiscard]] Result<Sequence> fork(std::int32_t room) const;
    // Forgets all tokens after the first `n_tokens` of tokens(), as if they had never been there; their cells
    // are room again. At the earliest to the end of the last image, of whose tokens each layer has kept its
    // own; text behind it is in every layer. One token stays at least.
    Status cut_back(std::size_t n_tokens);
    // Sees to it that at least `room` more tokens fit. Cells move when there are too few. After an error
    // nothing has changed but where cells are.
    Status reserve(std::int32_t room);
    // Gives cells back that hold nothing: there is no room then.
    Status trim();

    // Whether there is no prompt to continue.
    [[nodiscard]] bool is_empty() const { return tokens_.empty(); }
    // All tokens in their order, with kVisualToken for those of images that entered the decoder.
    [[nodiscard]] std::span<const std::int32_t> tokens() const { return tokens_; }
    // How many of them were the prompt.
    [[nodiscard]] std::size_t n_prompt() const { return n_prompt_; }
    // How many of them cannot be cut off: those up to the last row of an image, at least one.
    [[nodiscard]] std::size_t n_fixed() const;
    // How many of them a layer holds.
    [[nodiscard]] std::size_t n_held(std::size_t layer) const {
        return static_cast<std::size_t>(kv_.layer(layer).used);
    }
    // Position of the next token in layer 0: its place in the unpruned sequence unless positions are
    // compact. 0 when the sequence is empty.
    [[nodiscard]] std::int32_t next_position() const;
    // Tokens for which cells are left.
    [[nodiscard]] std::int32_t room() const;
    [[nodiscard]] std::size_t kv_bytes() const { return kv_.bytes(); }
    [[nodiscard]] const KvCache& kv() const { return kv_; }
    // In the order of the layers; together all layers that have cells.
    [[nodiscard]] std::span<const LayerGroup> groups() const { return groups_; }
    [[nodiscard]] const model::TextModel& model() const { return *model_; }

    // Factors of the rotation's frequencies, the same in all graphs; null for plain ones.
    [[nodiscard]] ggml_tensor* rope_factors() const { return rope_factors_; }

    // ---- For executors ----

    // A prompt begins that takes n_positions with its answer; nothing was there before.
    void begin_prompt(std::int64_t n_positions);

    // The rows of a prompt enter layers first ... last - 1: cells for them and `room` more. Layers enter in
    // order.
    Status add_layers(std::size_t first, std::size_t last, std::span<const LiveRow> rows, std::int32_t room);
    // A layer gets the cells of its first rows from elsewhere, before anything ran in it.
    void fill(std::size_t layer, std::span<const std::byte> keys, std::span<const std::byte> values) {
        kv_.write_cells(layer, keys, values);
    }
    // Those layers hold `n` cells now.
    void set_held(std::size_t first, std::size_t last, std::size_t n);
    // All layers have what they keep of these tokens.
    void finish_prompt(std::vector<std::int32_t> tokens);
    // All layers hold these text tokens too.
    void append(std::span<const std::int32_t> tokens);

   private:
    Sequence(std::shared_ptr<const model::TextModel> model, ggml_type kv_type);

    std::shared_ptr<const model::TextModel> model_;
    KvCache kv_;
    std::vector<LayerGroup> groups_;
    std::vector<std::int32_t> tokens_;  // empty until the prompt is finished
    std::size_t n_prompt_ = 0;
    ggml_tensor* rope_factors_ = nullptr;  // of the model
};

}  // namespace clasp::engine
