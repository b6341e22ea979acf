// What a method can ask for at a decoder stage, and what it then sees: the one pair of types that methods,
// the engine and the graphs of the decoder use as they are. A new signal is a field in each of the two, a
// line in kStageSignals, and its part of the graph (build_probe() in model/decoder.cpp); all that lies
// between takes signals as they come.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "clasp/select.h"

namespace clasp::methods {

// Whose attention a stage looks at. Each stage has its own.
enum class Reference : std::uint8_t {
    Policy,       // the policy's reference tokens
    Last,         // the last token of the prompt
    Instruction,  // the user's last words, as far as they stand after the last image
    Post,         // all text after the last image
    Raters,       // SparseVLM's rule over the text after the last image
    All,          // every token of the prompt, visual ones too; for a program's first stage, before any left
};

// A need has the name of its signal.
struct StageNeeds {
    enum class Rows : std::uint8_t {
        None,
        Probabilities,
        Logits,   // scaled, without softmax
        PerHead,  // probabilities of each head, and the rotation's bias
    };
    // What enters the block (StageMode::Before) or leaves it (After).
    enum class Hidden : std::uint8_t {
        None,
        Raw,
        FinalNorm,  // after the model's last norm
    };
    Reference reference = Reference::Policy;  // of scores and rows
    bool scores = false;
    Rows rows = Rows::None;
    bool key_norms = false;
    Hidden hidden = Hidden::None;
    bool text = false;  // the same signals of the text after the last image too
    bool gram = false;  // cosines of the tokens as they entered the decoder, see StageInput

    [[nodiscard]] bool asks_attention() const { return scores || rows != Rows::None; }
};

// A table of floats, row by row. Copies and parts share the values.
class SignalTable {
   public:
    SignalTable() = default;
    // Takes whole rows of `width`.
    SignalTable(std::vector<float> values, std::size_t width);

    [[nodiscard]] bool empty() const { return view_.rows == 0 || view_.width == 0; }
    [[nodiscard]] const FeatureView& view() const { return view_; }
    [[nodiscard]] std::span<const float> row(std::size_t i) const;
    // All of a table whose rows follow each other; columns cut out of several rows do not.
    [[nodiscard]] std::span<const float> values() const;

    [[nodiscard]] SignalTable rows(std::size_t begin, std::size_t end) const;
    [[nodiscard]] SignalTable columns(std::size_t begin, std::size_t end) const;

   private:
    std::shared_ptr<const std::vector<float>> values_;
    FeatureView view_;
};

// What was seen of a list of tokens; what was not asked for is empty. Attention is that of the reference
// tokens in the stage's own block.
struct StageSignals {
    SignalTable scores;         // 1 x tokens: probabilities, mean over heads and reference tokens
    SignalTable rows;           // references x tokens, mean over heads; PerHead: heads x references x tokens
    SignalTable rotation_bias;  // PerHead: references x tokens, what the rotation alone would give
    SignalTable key_norms;      // 1 x tokens: L1 norm of the rotated keys of the block
    SignalTable hidden;         // tokens x width

    // The same of tokens begin ... end - 1 of the list.
    [[nodiscard]] StageSignals part(std::size_t begin, std::size_t end) const;
    // The same of some tokens of the list, by their places in it, in memory of its own.
    [[nodiscard]] StageSignals of(std::span<const std::int32_t> tokens) const;
};

struct StageSignal {
    SignalTable StageSignals::*table = nullptr;
    bool has_token_rows = false;  // a row per token, else a column
};

inline constexpr std::array kStageSignals = {
    StageSignal{&StageSignals::scores}, StageSignal{&StageSignals::rows},
    StageSignal{&StageSignals::rotation_bias}, StageSignal{&StageSignals::key_norms},
    StageSignal{&StageSignals::hidden, true}};
static_assert(sizeof(StageSignals) == kStageSignals.size() * sizeof(SignalTable), "a signal is not listed");

}  // namespace clasp::methods
