// A decoder of the llama family in plain loops and double precision, without ggml, that drops tokens the
// way the engine promises to. Slow, short, and the measure of the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/prefill.h"
#include "model/text_model.h"

namespace clasp::test {

struct ReferenceRun {
    std::vector<float> logits;                     // of the last token
    std::vector<std::vector<TokenIndex>> kept;     // per stage
    std::vector<std::vector<float>> scores;        // per stage, of the live visual tokens
    std::vector<std::vector<float>> first_row;     // per stage: attention of the first reference token
    std::vector<std::vector<float>> first_logits;  // the same before the softmax
    std::vector<std::vector<float>> key_norms;     // per stage
    std::vector<std::vector<float>> hidden;        // per stage: what enters the block, live visual x width
};

enum class Dropping : std::uint8_t {
    Remove,  // a dropped token leaves the sequence
    Mask,    // it stays, but later blocks cannot see its key: must give the same logits
};

class ReferenceDecoder {
   public:
    // Copies the weights, which must be F32, unfused and without biases.
    explicit ReferenceDecoder(const model::TextModel& model);

    // The engine's request; room and cancel are ignored.
    [[nodiscard]] ReferenceRun run(const engine::PrefillRequest& request,
                                   Dropping dropping = Dropping::Remove) const;

   private:
    using Vector = std::vector<double>;
    struct Matrix {
        std::size_t inputs = 0;
        std::size_t outputs = 0;
        std::vector<float> values;  // outputs x inputs

        [[nodiscard]] Vector times(const Vector& x) const;
    };
    struct Block {
        Matrix attention_norm, q, k, v, out, ffn_norm, gate, up, down;
    };
    struct Row {
        Vector hidden;
        std::int32_t sequence_index = 0;
        std::int32_t visual_index = -1;
        double mass = 1;
        bool is_visible = true;
    };

    static Matrix copy(const ggml_tensor* tensor);
    [[nodiscard]] Vector normalise(const Vector& x, const Matrix& weight) const;
    void rotate(Vector& x, std::size_t n_heads, std::int32_t position) const;
    // Scaled dot products of a query with keys 0 ... i, per head.
    [[nodiscard]] std::vector<Vector> logits(const Vector& query, const std::vector<Vector>& keys,
                                             std::size_t i) const;
    // Attention probabilities of query row `i`, per head, over rows 0 ... i.
    [[nodiscard]] std::vector<Vector> attention(const std::vector<Row>& rows, const Vector& query,
                                                const std::vector<Vector>& keys, std::size_t i,
                                                bool uses_masses) const;
    void run_block(const Block& block, std::vector<Row>& rows) const;
    void look(const Block& block, const std::vector<Row>& rows, std::span<const std::int32_t> references,
              ReferenceRun& result) const;

    model::TextConfig config_;
    Matrix embedding_, head_, output_norm_;
    std::vector<Block> blocks_;
};

}  // namespace clasp::test
