// A decoder of any architecture of text_family.h in plain loops and double precision, without ggml, that
// drops tokens the way the engine promises to. Slow, short, and the measure of the engine.
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
    // Copies the weights, which must lie in plain memory, as what they stand for.
    explicit ReferenceDecoder(const model::TextModel& model);

    // The engine's request; its room counts where rotation depends on the length, cancel is ignored.
    [[nodiscard]] ReferenceRun run(const engine::PrefillRequest& request,
                                   Dropping dropping = Dropping::Remove) const;

   private:
    using Vector = std::vector<double>;
    struct Matrix {
        std::size_t inputs = 0;
        std::size_t outputs = 0;
        std::vector<float> values;  // outputs x inputs

        std::vector<float> bias;  // outputs, or empty

        [[nodiscard]] Vector times(const Vector& x) const;
    };
    // Norms that the architecture does not have are empty.
    struct Block {
        std::size_t layer = 0;
        Matrix attention_norm, q, k, v, q_norm, k_norm, out, attention_post_norm;
        Matrix ffn_norm, gate, up, down, ffn_post_norm;
    };
    struct Row {
        Vector hidden;
        std::int32_t sequence_index = 0;
        model::Position position = {};
        std::int32_t visual_index = -1;
        std::int32_t image = -1;
        std::int32_t line = engine::kNoLine;
        bool is_carried = false;  // lives while a visual token of its line does
        double mass = 1;
        std::vector<float> additions;  // n_deepstack x width, or empty
        bool is_visible = true;
    };

    static Matrix copy(const ggml_tensor* tensor, const ggml_tensor* bias = nullptr);
    // Outputs first ... first + n - 1.
    static Matrix part(const Matrix& matrix, std::size_t first, std::size_t n);
    [[nodiscard]] Block copy_block(const model::BlockWeights& weights, std::size_t layer) const;
    // x itself when there is no weight.
    [[nodiscard]] Vector normalise(const Vector& x, const Matrix& weight) const;
    // Each head by itself.
    [[nodiscard]] Vector normalise_heads(const Vector& x, const Matrix& weight) const;
    void rotate(Vector& x, std::size_t layer, const model::Position& position) const;
    [[nodiscard]] double gate(double x) const;
    [[nodiscard]] std::vector<Vector> keys_of(const Block& block, const std::vector<Row>& rows) const;
    [[nodiscard]] Vector query_of(const Block& block, const Row& row) const;
    [[nodiscard]] bool sees(const std::vector<Row>& rows, std::size_t layer, std::size_t query,
                            std::size_t key) const;
    // Scaled and capped dot products of a query with all keys, per head.
    [[nodiscard]] std::vector<Vector> logits(const Vector& query, const std::vector<Vector>& keys) const;
    // Attention probabilities of query row `i`, per head, over all rows.
    [[nodiscard]] std::vector<Vector> attention(const Block& block, const std::vector<Row>& rows,
                                                const std::vector<Vector>& keys, std::size_t i,
                                                bool uses_masses) const;
    [[nodiscard]] std::vector<Row> rows_of(const engine::PrefillRequest& request) const;
    void run_block(const Block& block, std::vector<Row>& rows) const;
    // Marks what a choice and the lines that it empties leave out as invisible.
    static void hide_dropped(const engine::StageChoice& choice, std::vector<Row>& rows);
    void look(const Block& block, const std::vector<Row>& rows, std::span<const std::int32_t> references,
              ReferenceRun& result) const;

    model::TextConfig config_;
    Matrix embedding_, head_, output_norm_;
    std::vector<Block> blocks_;
    std::vector<float> rope_factors_, long_rope_factors_, short_rope_factors_;  // empty where there are none
    mutable std::span<const float> factors_;                                    // of the run under way
};

}  // namespace clasp::test
