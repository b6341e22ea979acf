// Writes text models of the llama family with random weights and a real vocabulary, as GGUF files.
// Rows are written as they are made, so a file of any size needs little memory.
#pragma once

#include <cstdint>
#include <string>

#include "ggml.h"

namespace clasp::test {

struct RandomLlama {
    // "llama", or another with the same tensors; has_qk_norms makes it Qwen3's.
    std::string architecture = "llama";
    bool has_qk_norms = false;
    std::int32_t n_layers = 4;
    std::int32_t width = 64;
    std::int32_t n_heads = 4;
    std::int32_t n_kv_heads = 2;
    std::int32_t ffn_width = 128;
    std::int32_t context_length = 2048;
    ggml_type type = GGML_TYPE_F32;  // of matrices; norms, biases and rotation factors are F32
    std::uint64_t seed = 1;
    bool has_own_head = true;  // else the head is the embedding
    bool has_fused_qkv = false;
    bool has_biases = false;
    bool has_rope_factors = false;
    float rope_factor = 4.0F;  // mean of those factors; a huge one switches rotation off
    bool has_yarn = false;
    std::string chat_template = {};  // none when empty
    // File whose tokenizer keys are copied; empty for a vocabulary of 3 + 256 + 26 made-up tokens.
    std::string vocabulary_file = {};
};

// False when the file cannot be written or the vocabulary cannot be read.
bool write_random_llama(const std::string& path, const RandomLlama& spec);

}  // namespace clasp::test
