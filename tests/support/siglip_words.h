// A small text model's vocabulary with the words that SmolVLM and Gemma 3 put around pictures.
#pragma once

#include <string>

#include "support/random_llama.h"

namespace clasp::test {

inline RandomLlama siglip_words() {
    RandomLlama spec;
    spec.n_heads = 4;
    spec.n_kv_heads = 2;
    spec.adds_space = false;
    spec.control_tokens = {"<|im_start|>",     "<end_of_utterance>", "<fake_token_around_image>",
                           "<global-img>",     "<start_of_turn>",    "<end_of_turn>",
                           "<start_of_image>", "<end_of_image>"};
    for (int row = 1; row <= 9; ++row) {
        for (int column = 1; column <= 9; ++column) {
            spec.control_tokens.push_back("<row_" + std::to_string(row) + "_col_" + std::to_string(column) +
                                          ">");
        }
    }
    spec.word_tokens = {"\n\n", "\n\n\n"};
    return spec;
}

}  // namespace clasp::test
