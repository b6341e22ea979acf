// Prompts whose image loses tokens by a fixed rule, for tests of sequences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/prefill.h"
#include "model/text_model.h"
#include "support/decoder_case.h"

namespace clasp::test {

enum class Pruning : std::uint8_t {
    None,
    Plain,       // at layer 1 every second visual token stays, at layer 3 every third of those
    WithMasses,  // the same, and those that stay carry masses
    Compact,     // the same without masses, and positions count anew
};

struct SequenceSpec {
    std::size_t n_image = 60;
    Pruning pruning = Pruning::None;
    StageMode mode = StageMode::Before;
    std::int32_t room = 8;
    std::uint64_t seed = 7;
};

class SequenceCase {
   public:
    // [5 text | image | 8 text]; at least 4 layers.
    SequenceCase(const model::TextModel& model, const SequenceSpec& spec);

    [[nodiscard]] const DecoderCase& prompt() const { return prompt_; }
    // Borrows from this.
    [[nodiscard]] engine::PrefillRequest request() const;

   private:
    SequenceSpec spec_;
    DecoderCase prompt_;
    std::vector<engine::PrefillStage> stages_;
};

}  // namespace clasp::test
