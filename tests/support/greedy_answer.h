// What libllama answers when it always takes the most likely token, as text the way the engine shows it.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "engine/text_stream.h"
#include "support/decoder_case.h"
#include "support/llama_oracle.h"

namespace clasp::test {

struct GreedyAnswer {
    std::string text;
    std::size_t n_tokens = 0;
};

// logits: of the prompt that the oracle has just read.
inline GreedyAnswer greedy_answer(LlamaOracle& oracle, const model::TextModel& model,
                                  std::vector<float> logits, std::size_t max_tokens) {
    engine::TextStream stream;
    GreedyAnswer answer;
    while (answer.n_tokens < max_tokens && !logits.empty()) {
        const std::int32_t token = argmax(logits);
        if (llama_vocab_is_eog(model.vocabulary(), token)) break;
        answer.text += stream.push(model.piece(token, false));
        ++answer.n_tokens;
        logits = oracle.decode(token);
    }
    answer.text += stream.finish();
    return answer;
}

}  // namespace clasp::test
